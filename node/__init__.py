"""The NeuroSwarm node: a decentralized semantic cache service on IPFS.

A room knows the rooms below it and none above (``docs/architecture.md``): ``cli``, ``app``, ``api``,
``pipeline``, ``answer``, ``cache``, ``peers``, ``ipfs``, ``store``, ``audit``, ``models``, ``privacy``,
``language``, ``core``. ``pipeline.walk`` alone knows the order in which a question passes them, ``app`` alone
builds things.
"""

__version__ = "0.1.0"
