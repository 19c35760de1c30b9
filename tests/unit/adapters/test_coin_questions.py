"""What is read as a question about coins, how sure that is, and what is left alone."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.coins import dates
from adapters.coins.aliases import COINS, EVERYDAY, Coin
from adapters.coins.claims import Claim, claim
from adapters.coins.mentions import names_coins
from adapters.coins.slots import canonical_key
from node.core.model import CERTAIN, CLAIM

TODAY = date(2026, 5, 18)
"""A Monday."""


def certain(text: str) -> Claim:
    found = claim(text, TODAY)
    assert found is not None, text
    assert found.strength >= 0.8, found
    return found


def short(found: Claim | None) -> str | None:
    return None if found is None else canonical_key(found.question, TODAY)


# --- every word is accounted for ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("price of btc", "price:bitcoin:usd"),
        ("btc price", "price:bitcoin:usd"),
        ("Bitcoin value", "price:bitcoin:usd"),
        ("BTC worth today", "price:bitcoin:usd"),
        ("how much is one bitcoin", "price:bitcoin:usd"),
        ("What is the current price of Bitcoin?", "price:bitcoin:usd"),
        ("How much does a bitcoin cost right now?", "price:bitcoin:usd"),
        ("hey, can you tell me bitcoin's price please?", "price:bitcoin:usd"),
        ("BITCOIN PRICE", "price:bitcoin:usd"),
        ("Price of Bitcoin (BTC) in USD", "price:bitcoin:usd"),
        ("I'm thinking about investing. What's the current price of Bitcoin?", "price:bitcoin:usd"),
        ("What's BTC at?", "price:bitcoin:usd"),
        ("whats the btc price rn", "price:bitcoin:usd"),
        ("btc/usd", "price:bitcoin:usd"),
        ("btcusd", "price:bitcoin:usd"),
        ("BTC-EUR", "price:bitcoin:eur"),
        ("bitcoin price in eur", "price:bitcoin:eur"),
        ("euro price of bitcoin", "price:bitcoin:eur"),
        ("price of ETH", "price:ethereum:usd"),
        ("what's eth trading at", "price:ethereum:usd"),
        ("$ETH price", "price:ethereum:usd"),
        ("eth in btc", "price:ethereum:btc"),
        ("how much is 2.5 ETH in euros", "price:ethereum:eur:amount=2.5"),
        ("price for 2,5 ETH in EUR", "price:ethereum:eur:amount=2.5"),
        ("could you check what ethereum is at", "price:ethereum:usd"),
        ("whats doge at rn", "price:dogecoin:usd"),
        ("whats eths mcap", "market_cap:ethereum:usd"),
        ("le bitcoin est à combien ?", "price:bitcoin:usd"),
        ("die 10 größten Kryptowährungen", "top:usd:limit=10"),
        ("les 10 plus grosses cryptomonnaies", "top:usd:limit=10"),
        ("Preis von Cardano am 1. Mai 2025", "price:cardano:usd:date=2025-05-01"),
        ("wieviel bekomme ich für 2 bitcoin in euro", "price:bitcoin:eur:amount=2"),
        ("100 usd in bitcoin", "price:bitcoin:usd:money=100"),
        ("$1,000 to eth", "price:ethereum:usd:money=1000"),
        ("convert 2.50 euros to doge", "price:dogecoin:eur:money=2.5"),
        ("how much bitcoin can I get for 250 euros", "price:bitcoin:eur:money=250"),
        ("how many btc is 5k usd", "price:bitcoin:usd:money=5000"),
        ("how much eth would 2 thousand dollars get me", "price:ethereum:usd:money=2000"),
        ("convert 0.10 btc to usd", "price:bitcoin:usd:amount=0.1"),
        ("half a bitcoin in dollars", "price:bitcoin:usd:amount=0.5"),
        ("10k doge in usd", "price:dogecoin:usd:amount=10000"),
        ("1 million shib in usd", "price:shiba-inu:usd:amount=1000000"),
        ("1,000 ada in usd", "price:cardano:usd:amount=1000"),
        ("market cap of solana", "market_cap:solana:usd"),
        ("24h volume of eth", "volume_24h:ethereum:usd"),
        ("What's the 24-hour trading volume of Bitcoin?", "volume_24h:bitcoin:usd"),
        ("24h change of btc", "change_24h:bitcoin:usd"),
        ("how much has bitcoin changed in the last 24 hours", "change_24h:bitcoin:usd"),
        ("price of bitcoin on 1 January 2024", "price:bitcoin:usd:date=2024-01-01"),
        ("How much did bitcoin cost on March 5, 2023", "price:bitcoin:usd:date=2023-03-05"),
        ("bitcoin price on 2024-02-29", "price:bitcoin:usd:date=2024-02-29"),
        ("bitcoin price on 13/02/2024", "price:bitcoin:usd:date=2024-02-13"),
        ("price of bitcoin yesterday", "price:bitcoin:usd:date=2026-05-17"),
        ("what was the price of ethereum 2 days ago", "price:ethereum:usd:date=2026-05-16"),
        ("price of bitcoin on 18 May 2026", "price:bitcoin:usd"),
        ("top 5 coins by market cap", "top:usd:limit=5"),
        ("What are the biggest cryptocurrencies?", "top:usd:limit=10"),
        ("price of btc and eth", "price:bitcoin+ethereum:usd"),
        ("price of ethereum, bitcoin and sol", "price:bitcoin+ethereum+solana:usd"),
        ("price of SOL", "price:solana:usd"),
        ("sol token price", "price:solana:usd"),
        ("sol/usd", "price:solana:usd"),
        ("price of near protocol", "price:near:usd"),
        ("cryptocurrency price of link", "price:chainlink:usd"),
        ("price of the graph token", "price:the-graph:usd"),
        ("how much is $TRUMP", "price:official-trump:usd"),
        ("price of Cosmos", "price:cosmos:usd"),
        ("What's the price of bitcoin cash?", "price:bitcoin-cash:usd"),
        ("price of bitcon", "price:bitcoin:usd"),
        ("etherium price", "price:ethereum:usd"),
        ("price of bitcion", "price:bitcoin:usd"),
        ("bitcoin prcie", "price:bitcoin:usd"),
        ("current litecoin quote", "price:litecoin:usd"),
        ("how expensive is bitcoin right now?", "price:bitcoin:usd"),
        ("can you check how much ETH is at the moment", "price:ethereum:usd"),
        ("1 eth = ? usd", "price:ethereum:usd"),
        ("2 BTC is how many euros", "price:bitcoin:eur:amount=2"),
        ("how many dollars is 3 btc worth?", "price:bitcoin:usd:amount=3"),
        ("what's my 0.3 btc worth", "price:bitcoin:usd:amount=0.3"),
        ("cosmos atom price", "price:cosmos:usd"),
        ("sol price", "price:solana:usd"),
        ("ethbtc", "price:ethereum:btc"),
        ("btc price on 2024/02/29", "price:bitcoin:usd:date=2024-02-29"),
        ("is bitcoin up today?", "change_24h:bitcoin:usd"),
        ("did ethereum rise or fall today", "change_24h:ethereum:usd"),
        ("how much has solana dropped today", "change_24h:solana:usd"),
        ("how big is bitcoin's market cap", "market_cap:bitcoin:usd"),
        ("precio de ethereum en euros", "price:ethereum:eur"),
        ("¿Cuál es el precio de Solana?", "price:solana:usd"),
        ("Wie hoch ist der Bitcoin-Kurs?", "price:bitcoin:usd"),
        ("Bitcoinkurs", "price:bitcoin:usd"),
        ("Was ist ein Bitcoin wert?", "price:bitcoin:usd"),
        ("quel est le cours de l'ethereum", "price:ethereum:usd"),
        ("Marktkapitalisierung von Bitcoin", "market_cap:bitcoin:usd"),
    ],
)
def test_questions_and_their_keys(text: str, expected: str) -> None:
    found = certain(text)
    assert canonical_key(found.question, TODAY) == expected


@pytest.mark.parametrize(
    "text",
    """what is the price of freedom|who wrote the bitcoin whitepaper|explain bitcoin|what is bitcoin
    history of ethereum|how does solana work|price of gas in Madrid|price of gas|link me the doc
    near me restaurants|one dollar in euros|sol in spanish|worth reading
    bitcoin halving date|will bitcoin reach 100k|the cost of living|value of pi
    dot product of|dot product of two vectors|how much is Trump worth|price of sand|gas price|eth gas price
    ethereum gas price|cost of a mask|the time value of money|one price|price of uni in madrid|avalanche price
    value of link|price of compound|PRICE OF GAS|how much does a ton of gas cost|1 ton in usd
    bitcoin etf price|bitcoin price prediction|bitcoin price 2030|bitcoin price tomorrow|bitcoin mining cost
    price of bitcoin on 1 January 2030|price of bitcoin on 05/06/2024|bitcoin price on 31 February 2024
    what was the price of bitcoin
    how much bitcoin|usd to btc|bitcoin
    bitcoin vs ethereum|price of btc in usd and eur|what is bitcoin's market cap and price
    -5 btc in usd|0 btc in usd
    price of gold coin|price of a gold coin|subway token price|price of $AAPL|GPT-4 token price|price of XYZ
    top 10 coins to buy|top 5 movies|biggest coins|top 10 tokens by volume|price of ethereal|price of fathom
    the rise and fall of bitcoin|fall of luna|bitcoin performance|how big is bitcoin|how big is bitcoin now
    is bitcoin up to something|how much bitcoin is there|did bitcoin ever fall
    bitcoin prince|was ist ein Bitcoin|Thank you for the price of btc
    how much is a shiba inu puppy|10² btc in usd|price of a doge|cost of doge
    stellar evolution|top 5 stablecoins by market cap|top 10 coins to collect|100 usd in near
        5 dollars to ada|100 usd to btc yesterday|$100 btc|0 usd in btc|i put 100 usd in btc
        bitcoin and freedom price|price|
    """.replace("\n", "|").split("|"),
)
def test_other_people_s_questions_are_left_alone(text: str) -> None:
    assert claim(text.strip(), TODAY) is None


# --- the text must be known to ask --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("near price", "price:near:usd"),
        ("the price of link?", "price:chainlink:usd"),
        ("btc?", "price:bitcoin:usd"),
        ("XRP", "price:ripple:usd"),
        ("SOL?", "price:solana:usd"),
        ("5 eth", "price:ethereum:usd:amount=5"),
        ("eth rn?", "price:ethereum:usd"),
        ("what's 1 btc", "price:bitcoin:usd"),
        ("what was bitcoin on jan 1 2020", "price:bitcoin:usd:date=2020-01-01"),
        ("whats going on with the btc price today", "price:bitcoin:usd"),
        ("bitcon prise pls", "price:bitcoin:usd"),
        ("I know the price of bitcoin", "price:bitcoin:usd"),
        ("bitcoin fell today", "change_24h:bitcoin:usd"),
        ("did solana go up today?", "change_24h:solana:usd"),
        ("price of bitcon", "price:bitcoin:usd"),
        ("hey so my cousin keeps talking about it, what's bitcoin worth these days", "price:bitcoin:usd"),
        ("what's happening with the price of btc", "price:bitcoin:usd"),
        ("is btc above 100k right now?", "price:bitcoin:usd"),
        ("is doge still under 10 cents?", "price:dogecoin:usd"),
        ("price of solana plase", "price:solana:usd"),
        ("what is one bitcoin going for at the moment my friend", "price:bitcoin:usd"),
        ("how is doge doing", "price:dogecoin:usd"),
        ("crypto prices today", "top:usd:limit=10"),
        ("ドージコインの時価総額", "market_cap:dogecoin:usd"),
        ("比特币跌了吗", "change_24h:bitcoin:usd"),
        ("ビットコインの価格が知りたくて", "price:bitcoin:usd"),
        ("биткоин стоит 50000 долларов", "price:bitcoin:usd"),
    ],
)
def test_claims_for_texts_that_ask(text: str, expected: str) -> None:
    found = claim(text, TODAY)
    assert found is not None
    assert CLAIM <= found.strength < CERTAIN
    assert short(found) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("yo how much is one eth rn", "price:ethereum:usd"),
        ("plz btc price??", "price:bitcoin:usd"),
        ("precio del bitcoin hoy", "price:bitcoin:usd"),
        ("wie steht bitcoin gerade", "price:bitcoin:usd"),
        ("cours de l'ether", "price:ethereum:usd"),
        ("¿a cuánto está el ethereum?", "price:ethereum:usd"),
        ("Wie viele Euro sind 2 ETH?", "price:ethereum:eur:amount=2"),
        ("quanto custa um bitcoin em reais", "price:bitcoin:brl"),
        ("how much did eth move today", "change_24h:ethereum:usd"),
        ("compare the price of btc and eth", "price:bitcoin+ethereum:usd"),
        ("btc eth sol prices", "price:bitcoin+ethereum+solana:usd"),
        ("can u tell me how mcuh is a bitcoin", "price:bitcoin:usd"),
        ("kurs von bitcoin gestern", "price:bitcoin:usd:date=2026-05-17"),
        ("prix du bitcoin il y a 3 jours", "price:bitcoin:usd:date=2026-05-15"),
        ("bitcoin price last friday", "price:bitcoin:usd:date=2026-05-15"),
        ("what did sol cost last week", "price:solana:usd:date=2026-05-11"),
        ("I own 12 ETH, what are they worth?", "price:ethereum:usd:amount=12"),
        ("what percentage did BTC gain since yesterday", "change_24h:bitcoin:usd"),
        ("how many euros can I get for 2 eth", "price:ethereum:eur:amount=2"),
        ("combien de dollars pour 2 bitcoins", "price:bitcoin:usd:amount=2"),
        ("ethusdt", "price:ethereum:usd"),
        ("ビットコインの価格", "price:bitcoin:usd"),
        ("イーサリアムはユーロでいくらですか", "price:ethereum:eur"),
        ("昨日のビットコインの価格は？", "price:bitcoin:usd:date=2026-05-17"),
        ("比特币多少钱", "price:bitcoin:usd"),
        ("比特币现金的价格", "price:bitcoin-cash:usd"),
        ("2个以太坊值多少人民币", "price:ethereum:cny:amount=2"),
        ("сколько стоит биткоин", "price:bitcoin:usd"),
        ("курс эфира к евро вчера", "price:ethereum:eur:date=2026-05-17"),
        ("비트코인 가격", "price:bitcoin:usd"),
        ("bitcoin price in january 2021", "price:bitcoin:usd:date=2021-01-01"),
    ],
)
def test_wordings_that_are_accounted_for(text: str, expected: str) -> None:
    found = claim(text, TODAY)
    assert found is not None
    assert found.strength >= CERTAIN
    assert short(found) == expected


@pytest.mark.parametrize(
    "text",
    """how does bitcoin mining work|bitcoin price prediction 2030|near me|best price near me|gas price near me
    why did bitcoin crash in 2022|how is bitcoin taxed in germany
    bitcoin pizza price|price of a bitcoin atm
    how much is the bitcoin pizza worth now|what determines the price of bitcoin|sol price of beer
    how much bitcoin does microstrategy own|how much does a bitcoin transaction cost
    how much did I pay for eth
    how much money did she lose when the bitcoin price fell|what happened to bitcoin today
    bitcoin today in el salvador|what is bitcoin worth to society|price of the book Mastering Bitcoin
    what is gwei in eth|set an alert for the bitcoin price|how does the price of bitcoin change|eth vs btc
    how do I check the bitcoin price in python|write a poem about the price of bitcoin|the price of fame
    will bitcoin hit 100k|how much did bitcoin change in the last week|bitcoin price tomorrow
    dot com bubble price
    なぜビットコインの価格は下がったのか|ビットコインとは|什么是比特币|比特币价格预测
    почему падает курс биткоина
    прогноз курса биткоина|что такое биткоин|天气怎么样|сколько стоит хлеб|パンの値段""".replace(
        "\n", "|"
    ).split("|"),
)
def test_traps_are_left_alone(text: str) -> None:
    assert claim(text.strip(), TODAY) is None


@pytest.mark.parametrize(
    "text",
    """What's the ROI of BTC?|is ethereum a good investment?|should I buy solana now|should I buy bitcoin
    is bitcoin worth it|why is the bitcoin price falling|why is bitcoin up today
    at what price should I sell eth
    ビットコインに投資するべきですか|стоит ли покупать биткоин""".replace("\n", "|").split("|"),
)
def test_a_judgement_is_given_the_price_as_context(text: str) -> None:
    found = claim(text.strip(), TODAY)
    assert found is not None
    assert found.strength < CLAIM
    assert claim(text.strip(), TODAY, hinted=True) is None, "a hint does not make it a question of the price"
    assert (found.question.metric, found.question.date) == ("price", None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("bitcoin please", "price:bitcoin:usd"), ("give me eth in euros quickly", "price:ethereum:eur")],
)
def test_a_hint_makes_a_word_for_the_figure_needless(text: str, expected: str) -> None:
    assert short(claim(text, TODAY, hinted=True)) == expected


@pytest.mark.parametrize("text", ["what is bitcoin", "near me", "the cosmos", "how old is bitcoin", "hello"])
def test_a_hint_does_not_make_a_price_of_everything(text: str) -> None:
    assert claim(text, TODAY, hinted=True) is None


# --- days ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("yesterday", "yesterday"),
        ("gestern", "yesterday"),
        ("the day before yesterday", "today-2d"),
        ("3 days ago", "today-3d"),
        ("a week ago", "today-7d"),
        ("hace 3 dias", "today-3d"),
        ("vor zwei wochen", "today-14d"),
        ("a month ago", "2026-04-18"),
        ("2 years ago", "2024-05-18"),
        ("last friday", "last friday"),
        ("on friday", "friday"),
        ("last month", "last month"),
        ("1 january 2024", "2024-01-01"),
        ("january 5th", "2026-01-05"),
        ("december 5th", "2025-12-05"),
        ("5. marz 2023", "2023-03-05"),
        ("5 de marzo de 2023", "2023-03-05"),
        ("13/02/2024", "2024-02-13"),
        ("march 2024", "2024-03"),
    ],
)
def test_days_are_given_back_as_said(text: str, said: str) -> None:
    found = dates.find(text, TODAY)
    assert found is not None
    assert found.date == said
    assert (found.start, found.end) == (0, len(text))


@pytest.mark.parametrize(
    "text", ["05/06/2024", "31 february 2024", "1 january 2030", "may 2027", "0 days ago"]
)
def test_days_that_cannot_be_meant(text: str) -> None:
    found = dates.find(text, TODAY)
    assert found is None or found.date is None


@given(
    st.one_of(
        st.dates(date(2010, 1, 1), TODAY).map(date.isoformat),
        st.integers(1, 4000).map(lambda days: f"today-{days}d"),
        st.sampled_from(
            ["yesterday", "last friday", "sunday", "last week", "last month", "last year", "2024-02"]
        ),
    )
)
def test_the_phrase_of_a_day_is_read_back(said: str) -> None:
    found = dates.find(dates.phrase(said), TODAY)
    assert found is not None
    assert found.date is not None
    assert dates.day_of(found.date, TODAY) == dates.day_of(said, TODAY)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=120), st.booleans())
def test_claims_are_total(text: str, hinted: bool) -> None:
    for words in (text, f"price of btc {text}", f"{text} ビットコインの価格"):
        found = claim(words, TODAY, hinted=hinted)
        assert found is None or 0 < found.strength <= 1


def test_the_cheap_look_refuses_nothing_that_is_claimed() -> None:
    for text in (
        "btcusd",
        "Bitcoinkurs",
        "etherium price",
        "the graph coin price",
        "$wif price",
        "цена биткоина",
    ):
        assert names_coins(text), text
        assert claim(text, TODAY, hinted=True) is not None, text
    for text in ("what is the weather in lyon", "latest news", "who wrote hamlet?", "12 + 3 usd", ""):
        assert not names_coins(text), text
        assert claim(text, TODAY, hinted=True) is None, text


@given(st.sampled_from([coin for coin in COINS if coin.symbols[0] not in EVERYDAY]), st.booleans())
def test_every_coin_passes_the_cheap_look(coin: Coin, loud: bool) -> None:
    for name in (*coin.names, *coin.symbols):
        assert names_coins(f"price of {name.upper() if loud else name} today")


def test_a_text_too_long_to_be_a_question_is_not_read() -> None:
    assert claim("price of btc " * 5_000, TODAY) is None


@pytest.mark.parametrize(
    "text",
    ["2 btc in btc", "price of bitcoin in btc", "btc to btc", "btc and eth in btc", "price of ether in eth"],
)
def test_a_coin_in_itself_is_no_price(text: str) -> None:
    assert claim(text, TODAY) is None
    assert claim(text, TODAY, hinted=True) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bitcoin price in dollars canadian", "price:bitcoin:cad"),
        ("bitcoin price in canadian dollars", "price:bitcoin:cad"),
        ("price of btc in dolares canadienses", "price:bitcoin:cad"),
        ("bitcoin price in dollars australian", "price:bitcoin:aud"),
        ("bitcoin price in pesos mexican", "price:bitcoin:mxn"),
        ("bitcoin price in dollars us", "price:bitcoin:usd"),
        ("bitcoin price in dollars jamaican", None),
        ("bitcoin price in jamaican dollars", None),
        ("eth in btc", "price:ethereum:btc"),
    ],
)
def test_the_country_of_a_currency_counts(text: str, expected: str | None) -> None:
    assert short(claim(text, TODAY)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "price of my token secretcoin",
        "price of hunter2 token",
        "price of $A1B2C3D4",
        "price of $MYTKN jane@x.com",
    ],
)
def test_a_name_that_may_be_private_is_not_looked_up(text: str) -> None:
    assert claim(text, TODAY) is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("price of XQZT", "xqzt"),
        ("XQZT price", "xqzt"),
        ("$XQZT", "xqzt"),
        ("what is Zarnix trading at", "zarnix"),
        ("how much is one FLRB in dollars", "flrb"),
        ("convert 3 florbcoin to eur", "florbcoin"),
        ("is FRAX holding its peg", "frax"),
    ],
)
def test_what_its_form_makes_a_coin_is_looked_up(text: str, name: str) -> None:
    found = claim(text, TODAY)
    assert found is not None
    assert found.question.unresolved == (name,)
    assert found.strength >= CLAIM
    assert names_coins(text)


@pytest.mark.parametrize(
    "text",
    [
        "price of milk",
        "price of oil",
        "price of OIL",
        "how much is a stamp",
        "price of GPU",
        "price of an SUV",
        "how much is VAT",
        "price of NFL tickets",
        "what is the stock trading at",
        "what is my house trading for",
        "what is brent trading at",
        "WTF is the price of XQZT",
        "square peg",
        "is the krone holding its peg",
        "zorgcoin",
    ],
)
def test_what_may_be_anything_else_is_not(text: str) -> None:
    assert claim(text, TODAY) is None


def test_an_unknown_name_is_looked_up() -> None:
    assert certain("price of wagmi token").question.unresolved == ("wagmi",)
