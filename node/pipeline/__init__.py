"""A question's way through the node: the walk, what may be asked of the node, what failures leave."""
