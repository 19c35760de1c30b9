"""The Snapshot spaces of well-known communities, by the names that people use for them. Pure data.

A space's id is an ENS name. Each was seen in use by at least two public projects or by the community's own
documents; a renamed space answers with nothing rather than with an error, so what is listed here is checked
again whenever it is asked.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Space:
    """``names`` are folded words as people write them, the first one in the way that answers call it
    (``label``). ``common``: the name is an everyday word too, so it counts only in a telling place."""

    id: str
    label: str
    names: tuple[str, ...]
    common: bool = False


SPACES: tuple[Space, ...] = (
    Space("uniswapgovernance.eth", "Uniswap", ("uniswap", "uni swap")),
    Space("aavedao.eth", "Aave", ("aave",)),
    Space("ens.eth", "ENS", ("ens", "ethereum name service", "ens domains")),
    Space("arbitrumfoundation.eth", "Arbitrum", ("arbitrum", "arb dao")),
    Space("opcollective.eth", "Optimism", ("optimism", "optimism collective", "op collective"), common=True),
    Space("lido-snapshot.eth", "Lido", ("lido",)),
    Space("gitcoindao.eth", "Gitcoin", ("gitcoin",)),
    Space("balancer.eth", "Balancer", ("balancer",)),
    Space("curve.eth", "Curve", ("curve", "curve finance"), common=True),
    Space("sushigov.eth", "Sushi", ("sushi", "sushiswap", "sushi swap"), common=True),
    Space("comp-vote.eth", "Compound", ("compound", "compound finance"), common=True),
    Space("safe.eth", "Safe", ("safe", "gnosis safe", "safe wallet"), common=True),
    Space("gnosis.eth", "Gnosis", ("gnosis", "gnosisdao")),
    Space("apecoin.eth", "ApeCoin", ("apecoin", "ape coin")),
    Space("1inch.eth", "1inch", ("1inch", "1 inch network")),
    Space("cvx.eth", "Convex", ("convex", "convex finance"), common=True),
    Space("frax.eth", "Frax", ("frax", "frax finance")),
    Space("stgdao.eth", "Stargate", ("stargate", "stargate finance"), common=True),
    Space("starknet.eth", "Starknet", ("starknet",)),
    Space("gmx.eth", "GMX", ("gmx",)),
    Space("snxgov.eth", "Synthetix", ("synthetix",)),
    Space("rocketpool-dao.eth", "Rocket Pool", ("rocket pool", "rocketpool")),
    Space("dydxgov.eth", "dYdX", ("dydx",)),
    Space("olympusdao.eth", "Olympus", ("olympusdao", "olympus"), common=True),
    Space("snapshot.dcl.eth", "Decentraland", ("decentraland",)),
    Space("cakevote.eth", "PancakeSwap", ("pancakeswap", "pancake swap")),
    Space("pooltogether.eth", "PoolTogether", ("pooltogether", "pool together")),
    Space("shapeshiftdao.eth", "ShapeShift", ("shapeshift",)),
    Space("hop.eth", "Hop", ("hop", "hop protocol"), common=True),
    Space("radiantcapital.eth", "Radiant", ("radiant", "radiant capital"), common=True),
    Space("morpho.eth", "Morpho", ("morpho",)),
    Space("gearbox.eth", "Gearbox", ("gearbox", "gearbox protocol"), common=True),
    Space("index-coop.eth", "Index Coop", ("index coop",)),
    Space("kleros.eth", "Kleros", ("kleros",)),
    Space("poh.eth", "Proof of Humanity", ("proof of humanity",)),
    Space("banklessvault.eth", "Bankless DAO", ("bankless", "banklessdao")),
    Space("ethenagovernance.eth", "Ethena", ("ethena",)),
    Space("aavegotchi.eth", "Aavegotchi", ("aavegotchi",)),
)

BY_ID = {space.id: space for space in SPACES}
BY_NAME = {tuple(name.split()): space for space in SPACES for name in space.names}
