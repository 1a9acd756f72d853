// A graph on a canvas.
export { default as cytoscape } from "cytoscape";
