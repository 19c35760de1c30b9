"""The parts of the simulation ``bench.swarm``."""
