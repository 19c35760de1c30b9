"""Names and tickers of the best known coins, and of currencies, as data.

``COINS`` maps what people write to the ids that CoinGecko uses. It holds only the well known; for others the
source's own search decides. ``EVERYDAY`` lists the aliases that are ordinary words (or tickers of other
things) as well: they name a coin only with further evidence, which the reader of questions asks for.

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
paypal-usd|pyusd|PayPal USD
euro-coin|eurc|EURC|euro coin
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
    uni atom apt arb polygon cosmos neo iota luna fet kava helium injective tao elrond
    """
)
"""Everyday aliases that next to the word "price" or "value" still mean the coin."""

UNPRICED: frozenset[str] = _words("near link op arb algo imx fet tao theta egld ondo ena ldo grt xdc axs")
"""Everyday aliases and rare tickers of things that have no price: directly at the word "price" they mean the
coin."""

SCRIPT_NAMES: Mapping[str, tuple[str, ...]] = {
    "bitcoin": ("ビットコイン", "比特币", "比特幣", "биткоин", "биткойн", "биток", "비트코인"),
    "ethereum": (
        "イーサリアム",
        "イーサ",
        "以太坊",
        "以太币",
        "以太幣",
        "эфириум",
        "этериум",
        "эфир",
        "이더리움",
        "이더",
    ),
    "bitcoin-cash": ("ビットコインキャッシュ", "比特币现金", "биткоин кэш", "비트코인캐시"),
    "ethereum-classic": ("イーサリアムクラシック", "以太经典", "이더리움클래식"),
    "ripple": ("リップル", "瑞波币", "瑞波", "рипл", "риппл", "리플"),
    "solana": ("ソラナ", "索拉纳", "солана", "соланы", "солану", "솔라나"),
    "dogecoin": ("ドージコイン", "ドージ", "狗狗币", "狗狗幣", "догикоин", "догкоин", "доджкоин", "도지코인"),
    "litecoin": ("ライトコイン", "莱特币", "萊特幣", "лайткоин", "라이트코인"),
    "cardano": ("カルダノ", "エイダコイン", "艾达币", "кардано", "에이다", "카르다노"),
    "polkadot": ("ポルカドット", "波卡", "полкадот", "폴카닷"),
    "shiba-inu": ("柴犬コイン", "シバイヌ", "柴犬币", "шиба ину", "시바이누"),
    "tether": ("テザー", "泰达币", "тезер", "테더"),
    "tron": ("トロン", "波场", "트론"),
    "monero": ("モネロ", "门罗币", "монеро", "모네로"),
    "binancecoin": ("バイナンスコイン", "币安币", "бинанс коин", "바이낸스코인"),
    "avalanche-2": ("アバランチ", "雪崩币", "아발란체"),
    "chainlink": ("チェーンリンク", "чейнлинк", "체인링크"),
    "the-open-network": ("тонкоин", "톤코인"),
}
"""Names in other scripts; Russian ones take endings."""

SCRIPT_CURRENCIES: Mapping[str, tuple[str, ...]] = {
    "usd": ("米ドル", "ドル", "美元", "美金", "доллар", "бакс", "달러"),
    "eur": ("ユーロ", "欧元", "歐元", "евро", "유로"),
    "jpy": ("日本円", "日元", "日圆", "円", "иен", "엔화"),
    "gbp": ("英ポンド", "ポンド", "英镑", "фунт", "파운드"),
    "cny": ("人民币", "人民幣", "元", "юан", "위안"),
    "rub": ("ルーブル", "卢布", "рубл", "루블"),
    "krw": ("ウォン", "韩元", "вон", "원화"),
    "twd": ("台币", "新台幣", "台幣"),
    "hkd": ("港币", "港元", "港幣"),
    "chf": ("スイスフラン", "瑞士法郎", "франк"),
    "inr": ("ルピー", "卢比", "рупи"),
    "uah": ("гривн",),
}
"""Stems of currencies in other scripts; the longest that is found counts."""

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
        "dolar",
        "dolares",
        "dollaro",
        "dollari",
        "dolares americanos",
        "dollars americains",
        "american dollar",
    ),
    "eur": ("eur", "euro", "euros", "€"),
    "gbp": (
        "gbp",
        "pound",
        "pounds",
        "pound sterling",
        "pounds sterling",
        "sterling",
        "british pounds",
        "british pound",
        "quid",
        "pfund",
        "libras esterlinas",
        "livres sterling",
        "sterline",
        "£",
    ),
    "jpy": ("jpy", "yen", "yens", "yenes", "japanese yen", "¥"),
    "cny": ("cny", "rmb", "yuan", "renminbi", "chinese yuan"),
    "inr": ("inr", "rupee", "rupees", "indian rupee", "indian rupees", "₹"),
    "krw": ("krw", "korean won", "₩"),
    "chf": (
        "chf",
        "franc",
        "francs",
        "swiss franc",
        "swiss francs",
        "franken",
        "schweizer franken",
        "francs suisses",
    ),
    "aud": (
        *("aud", "australian dollar", "australian dollars", "dollars australiens", "dolares australianos"),
        *("australische dollar", "australischen dollar", "dollari australiani"),
    ),
    "cad": (
        *("cad", "canadian dollar", "canadian dollars", "dollars canadiens", "dolares canadienses"),
        *("kanadische dollar", "kanadischen dollar", "dollari canadesi", "dolares canadenses"),
    ),
    "nzd": ("nzd", "new zealand dollar", "new zealand dollars"),
    "sgd": ("sgd", "singapore dollar", "singapore dollars"),
    "hkd": ("hkd", "hong kong dollars"),
    "twd": ("twd", "taiwan dollars"),
    "brl": ("brl", "reais", "brazilian reais", "brazilian real"),
    "mxn": ("mxn", "mexican peso", "mexican pesos", "pesos mexicanos"),
    "ars": ("ars", "argentine pesos"),
    "clp": ("clp", "chilean pesos"),
    "php": ("php", "philippine pesos"),
    "rub": ("rub", "ruble", "rubles", "roubles", "russian rubles", "₽"),
    "uah": ("uah", "hryvnia", "₴"),
    "try": ("turkish lira", "lira", "₺"),
    "zar": ("zar", "rand", "rands", "south african rand"),
    "sek": ("sek", "swedish krona", "swedish kronor", "kronor"),
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
"""Currency code of the source to what people write. "TRY" is read in capitals only, by the reader."""

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
    "tether": "usd",
    "usd-coin": "usd",
}
"""Coins in which the source quotes other coins; those that stand for a dollar are dollars."""
