// A graph on a canvas, with the layered layout of dagre.
import cytoscape from "cytoscape";
import dagre from "cytoscape-dagre";

cytoscape.use(dagre);
export { cytoscape };
