"""Language models and embedders, and the engines that run them."""
