"""The NeuroSwarm node: a decentralized semantic cache service on IPFS.

Reading the folders in order is reading the life of a query: ``api`` (arrive), ``classify``
(understand), ``cache`` (recall), the top-level ``adapters`` (ask), ``synthesise`` (compose),
``score`` (judge), ``store`` (remember), ``governance`` (record). ``pipeline`` alone knows the order,
``app`` alone builds things.
"""

__version__ = "0.1.0"
