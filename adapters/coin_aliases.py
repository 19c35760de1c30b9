"""Names and tickers of the best known coins, and of currencies, as data.

``COINS`` maps what people write to the ids that CoinGecko uses. It holds only the well known; for others the
source's own search decides. ``EVERYDAY`` lists the aliases that are ordinary words (or tickers of other
things) as well: they name a coin only with further evidence, which ``coin_questions`` asks for.

Pure data; it knows nothing of questions. Ids were written from general knowledge of the service: a wrong or
retired id makes an answer fail clearly ("lists no such coin"), it cannot produce another coin's figure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Coin:
    """``names`` are lower case, the official one first; ``symbols`` are lower-case tickers."""

    id: str
    title: str
    symbols: tuple[str, ...]
    names: tuple[str, ...]


def _coin(line: str) -> Coin:
    id_, symbols, title, *others = (part.strip() for part in line.split("|"))
    return Coin(id_, title, tuple(symbols.split()), (title.lower(), *others))


# id | tickers | name | other names
COINS: tuple[Coin, ...] = tuple(
    _coin(line)
    for line in """
bitcoin|btc xbt|Bitcoin
ethereum|eth|Ethereum|ether
tether|usdt|Tether|tether usd
ripple|xrp|XRP|ripple
binancecoin|bnb|BNB|binance coin|binancecoin
solana|sol|Solana
usd-coin|usdc|USDC|usd coin
dogecoin|doge|Dogecoin|doge coin
cardano|ada|Cardano
tron|trx|TRON
staked-ether|steth|Lido Staked Ether|staked ether|staked eth
wrapped-bitcoin|wbtc|Wrapped Bitcoin
avalanche-2|avax|Avalanche
the-open-network|ton|Toncoin|the open network
chainlink|link|Chainlink|chain link
shiba-inu|shib|Shiba Inu|shiba
sui|sui|Sui
stellar|xlm|Stellar|stellar lumens|lumens
hedera-hashgraph|hbar|Hedera|hedera hashgraph
polkadot|dot|Polkadot|polka dot
bitcoin-cash|bch|Bitcoin Cash|bitcoincash
leo-token|leo|LEO Token|unus sed leo
litecoin|ltc|Litecoin|lite coin
uniswap|uni|Uniswap
pepe|pepe|Pepe
near|near|NEAR Protocol
aptos|apt|Aptos
internet-computer|icp|Internet Computer|internet computer protocol
aave|aave|Aave
dai|dai|Dai
ethereum-classic|etc|Ethereum Classic
crypto-com-chain|cro|Cronos
polygon-ecosystem-token|pol|POL (ex-MATIC)|polygon|polygon ecosystem token
matic-network|matic|Matic|matic network
vechain|vet|VeChain
monero|xmr|Monero
cosmos|atom|Cosmos Hub|cosmos
arbitrum|arb|Arbitrum
filecoin|fil|Filecoin
algorand|algo|Algorand
kaspa|kas|Kaspa
optimism|op|Optimism
maker|mkr|Maker|makerdao
injective-protocol|inj|Injective|injective protocol
blockstack|stx|Stacks
the-graph|grt|The Graph
immutable-x|imx|Immutable|immutable x
render-token|render rndr|Render|render network
bittensor|tao|Bittensor
celestia|tia|Celestia
worldcoin-wld|wld|Worldcoin
okb|okb|OKB
mantle|mnt|Mantle
ondo-finance|ondo|Ondo|ondo finance
hyperliquid|hype|Hyperliquid
ethena|ena|Ethena
ethena-usde|usde|Ethena USDe
jupiter-exchange-solana|jup|Jupiter
bonk|bonk|Bonk
floki|floki|FLOKI
the-sandbox|sand|The Sandbox|sandbox
decentraland|mana|Decentraland
axie-infinity|axs|Axie Infinity
theta-token|theta|Theta Network|theta
fantom|ftm|Fantom
sei-network|sei|Sei
thorchain|rune|THORChain
lido-dao|ldo|Lido DAO|lido
quant-network|qnt|Quant
gala|gala|GALA
flow|flow|Flow
elrond-erd-2|egld|MultiversX|elrond
tezos|xtz|Tezos
eos|eos|EOS
neo|neo|NEO
gas|gas|Gas|neo gas
iota|iota miota|IOTA
bitcoin-cash-sv|bsv|Bitcoin SV
bitcoin-gold|btg|Bitcoin Gold
zcash|zec|Zcash
dash|dash|Dash
ecash|xec|eCash
kucoin-shares|kcs|KuCoin|kucoin token
pancakeswap-token|cake|PancakeSwap
curve-dao-token|crv|Curve DAO|curve
havven|snx|Synthetix|synthetix network
compound-governance-token|comp|Compound
1inch|1inch|1inch
basic-attention-token|bat|Basic Attention|basic attention token
0x|zrx|0x Protocol
enjincoin|enj|Enjin Coin|enjin
chiliz|chz|Chiliz
ethereum-name-service|ens|Ethereum Name Service
arweave|ar|Arweave
helium|hnt|Helium
mina-protocol|mina|Mina Protocol
kava|kava|Kava
gmx|gmx|GMX
pyth-network|pyth|Pyth Network
official-trump|trump|Official Trump
harmony|one|Harmony|harmony one
apecoin|ape|ApeCoin|ape coin
mask-network|mask|Mask Network
pi-network|pi|Pi Network
xdce-crowd-sale|xdc|XDC Network
pax-gold|paxg|PAX Gold
tether-gold|xaut|Tether Gold
first-digital-usd|fdusd|First Digital USD
true-usd|tusd|TrueUSD
weth|weth|WETH|wrapped ether|wrapped ethereum
pendle|pendle|Pendle
fetch-ai|fet|Fetch.ai|artificial superintelligence alliance
jasmycoin|jasmy|JasmyCoin
terra-luna|lunc|Terra Luna Classic|luna classic
terra-luna-2|luna|Terra|terra luna
kusama|ksm|Kusama
celo|celo|Celo
waves|waves|Waves
zilliqa|zil|Zilliqa
ankr|ankr|Ankr Network
yearn-finance|yfi|yearn.finance|yearn finance
sushi|sushi|Sushi|sushiswap
trust-wallet-token|twt|Trust Wallet|trust wallet token
oasis-network|rose|Oasis|oasis network
conflux-token|cfx|Conflux
starknet|strk|Starknet
dydx-chain|dydx|dYdX
""".strip().splitlines()
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


BY_ID: Mapping[str, Coin] = {coin.id: coin for coin in COINS}

EVERYDAY: frozenset[str] = _words(
    """
    link near sol dot ton flow gas one sand mask time uni trump doge avalanche cosmos maker compound polygon
    leo atom algo ape apt arb op pol etc vet fil mana rune comp tia cake bat ar pi ens hype tao fet mina kava
    dash neo iota theta gala render waves rose luna terra curve sushi helium harmony oasis stellar lumens
    optimism injective immutable mantle jupiter quant stacks sandbox lido ether pepe shiba celo sei sui dai
    ada pyth floki bonk elrond enjin kucoin ripple tether
    """
) | {"the graph", "the sandbox", "polka dot", "chain link", "trust wallet", "internet computer", "lite coin"}
"""Aliases with another everyday meaning."""

FAMILIAR: frozenset[str] = _words(
    """
    doge ether pepe shiba ada sui sei celo dai bonk floki pyth tether ripple stellar lumens lido sol dot
    uni atom algo apt arb polygon cosmos neo iota luna fet kava helium injective tao elrond
    """
)
"""Everyday aliases that next to the word "price" or "value" still mean the coin."""

# What a name may be misspelt for; short ones and those one letter away from another word are left out.
MISSPELLABLE: tuple[str, ...] = tuple(
    sorted(
        name
        for coin in COINS
        for name in coin.names
        if len(name) >= 6 and name.isalpha() and name not in EVERYDAY and name not in {"celestia", "cronos"}
    )
)

CURRENCIES: Mapping[str, tuple[str, ...]] = {
    "usd": (
        "usd",
        "dollar",
        "dollars",
        "us dollar",
        "us dollars",
        "american dollars",
        "bucks",
        "$",
        "us$",
        "dolares",
        "dólares",
        "dollari",
        "us-dollar",
    ),
    "eur": ("eur", "euro", "euros", "€"),
    "gbp": ("gbp", "pound", "pounds", "pound sterling", "pounds sterling", "sterling", "british pounds", "£"),
    "jpy": ("jpy", "yen", "japanese yen", "¥"),
    "cny": ("cny", "rmb", "yuan", "renminbi", "chinese yuan"),
    "inr": ("inr", "rupee", "rupees", "indian rupees", "₹"),
    "krw": ("krw", "korean won", "₩"),
    "chf": ("chf", "franc", "francs", "swiss franc", "swiss francs"),
    "aud": ("aud", "australian dollar", "australian dollars"),
    "cad": ("cad", "canadian dollar", "canadian dollars"),
    "nzd": ("nzd", "new zealand dollars"),
    "sgd": ("sgd", "singapore dollars"),
    "hkd": ("hkd", "hong kong dollars"),
    "twd": ("twd", "taiwan dollars"),
    "brl": ("brl", "reais", "brazilian reais", "brazilian real"),
    "mxn": ("mxn", "mexican peso", "mexican pesos"),
    "ars": ("ars", "argentine pesos"),
    "clp": ("clp", "chilean pesos"),
    "php": ("php", "philippine pesos"),
    "rub": ("rub", "ruble", "rubles", "roubles", "russian rubles", "₽"),
    "uah": ("uah", "hryvnia", "₴"),
    "try": ("turkish lira", "lira", "₺"),
    "zar": ("zar", "rand", "south african rand"),
    "sek": ("sek", "swedish krona", "swedish kronor"),
    "nok": ("nok", "norwegian kroner"),
    "dkk": ("dkk", "danish kroner"),
    "pln": ("pln", "zloty", "zlotys", "polish zloty"),
    "czk": ("czk", "czech koruna"),
    "huf": ("huf", "forint", "forints"),
    "ils": ("ils", "shekel", "shekels", "₪"),
    "thb": ("thb", "baht", "thai baht"),
    "idr": ("idr", "rupiah"),
    "vnd": ("vnd", "vietnamese dong", "₫"),
    "myr": ("myr", "ringgit"),
    "aed": ("aed", "dirham", "dirhams"),
    "sar": ("sar", "saudi riyals"),
    "ngn": ("ngn", "naira", "₦"),
    "pkr": ("pkr", "pakistani rupees"),
    "bdt": ("bdt", "taka"),
    "lkr": ("lkr", "sri lankan rupees"),
    "kwd": ("kwd", "kuwaiti dinar"),
    "bhd": ("bhd", "bahraini dinar"),
    "gel": ("gel", "georgian lari"),
    "sats": ("sats", "satoshi", "satoshis"),
}
"""Currency code of the source to what people write. "TRY" is read in capitals only, by ``coin_questions``."""

COIN_CURRENCIES: Mapping[str, str] = {
    "bitcoin": "btc",
    "ethereum": "eth",
    "litecoin": "ltc",
    "bitcoin-cash": "bch",
    "binancecoin": "bnb",
    "eos": "eos",
    "ripple": "xrp",
    "stellar": "xlm",
    "chainlink": "link",
    "polkadot": "dot",
    "yearn-finance": "yfi",
    "solana": "sol",
}
"""Coins in which the source quotes other coins."""
