"""Clusterers beside the default one: DBSCAN, the models of Crescenzi, UXClust, regions of iRobot."""
