"""A small typed client of a NeuroSwarm node, blocking and asynchronous."""

from neuroswarm_client.client import ADDRESS, API_KEY, AsyncClient, Client
from neuroswarm_client.errors import (
    BadInput,
    Conflict,
    NeuroSwarmError,
    NotAllowed,
    NotFound,
    NotReached,
    Rejected,
    Unavailable,
)
from neuroswarm_client.values import (
    Answer,
    Citation,
    Decision,
    Event,
    Found,
    Health,
    Hit,
    Judged,
    Kept,
    Source,
)

__all__ = [
    "ADDRESS",
    "API_KEY",
    "Answer",
    "AsyncClient",
    "BadInput",
    "Citation",
    "Client",
    "Conflict",
    "Decision",
    "Event",
    "Found",
    "Health",
    "Hit",
    "Judged",
    "Kept",
    "NeuroSwarmError",
    "NotAllowed",
    "NotFound",
    "NotReached",
    "Rejected",
    "Source",
    "Unavailable",
]
