"""Pairs of questions that must have one keyword key, and pairs that never may: numbers, units, dates, names,
roles, direction, comparison, negation, question words, time, scope."""

from __future__ import annotations

import pytest

from node.cache.keys import keyword_key
from node.cache.matching.gate import agree

MEET = """
What is 1,000 in binary? | what is 1000 in binary
What is one thousand in binary? | what is 1k in binary
a country with 1.5 million people | a country with 1,500,000 people
Which flats cost under $2k? | which flats cost under 2,000 dollars
How do I run Llama 70B? | how do I run llama 70 billion
Who was the 1st president of Brazil? | Who was the first president of Brazil?
What is the 14th amendment? | what is amendment 14
What is the third law of Newton? | What is Newton's third law?
summary of the third chapter of Emma | summary of chapter 3 of Emma
Mahler's symphony no. 5 | Mahler symphony number 5
What was proposal #123 about? | what was proposal no. 123 about
What was proposal number 123 about? | What was proposal 123 about?
World War II causes | Second World War causes
When did WW2 end? | when did World War Two end
What is 9 minus 3? | subtract 3 from 9
9 - 3 | what is 9 minus 3
What is 3 subtracted from 9? | 9 minus 3
divide 8 by 2 | what is 8 divided by 2
quotient of 8 and 2 | 8 / 2
sum of 4 and 9 | what is 4 plus 9
add 4 and 9 | 4 + 9
multiply 4 by 9 | 4 times 9
product of 4 and 9 | what is 4 x 9
2 to the power of 8 | 2^8
calculate 12 / 5 | what is 12 divided by 5
convert 5 km to miles | how many miles in 5 km
what is 5 kilometres in miles | convert 5 km to miles
5 km to miles | how many miles are there in 5 kilometers
how much is 100 EUR in USD | convert 100 euros to dollars
How many dollars is 100 euros? | 100 euros in dollars
How many feet are in a mile? | convert one mile to feet
is 60 mph fast | is 60 miles per hour fast
is 90 km/h fast | is 90 kilometers per hour fast
boil at 100 degrees Celsius | boil at 100 °C
Is 5 mW safe? | is 5 milliwatts safe
download 5 MB | download 5 megabytes
a 20 kW heater | a 20 kilowatt heater
a rope of 5 m | a rope of 5 metres
a flat of 60 square meters | a flat of 60 sq m
What happened on March 3rd, 2024? | what happened on 2024-03-03
What happened on 3 Mar 2024? | what happened on March 3, 2024
What happened on the 3rd of March 2024? | what happened on 3 March 2024
What happened on 13/04/2024? | what happened on April 13, 2024
What happened on 04/13/2024? | what happened on 13.04.2024
What happened in March 2024? | what happened in Mar 2024
What happened in the year 1969? | what happened in 1969
flights on 5 May | flights on May 5th
What changed on the 4th of July? | what changed on July 4
Is the shop open at 5 pm? | is the shop open at 17:00
Is the shop open at 5:30 p.m.? | is the shop open at 17:30
Is the shop open at noon? | is the shop open at 12 pm
capital of the United States | What's the capital of the US?
Who is the president of the U.S.? | who is the president of America
who leads the us | who leads the united states
GDP of the UK | gross domestic product of the United Kingdom
oil of the UAE | oil of the United Arab Emirates
capital of the Czech Republic | capital of Czechia
rivers of Burma | rivers of Myanmar
beaches of Côte d'Ivoire | beaches of Ivory Coast
population of NYC | population of New York City
restaurants in LA | restaurants in Los Angeles
weather in DC | weather in Washington, D.C.
weather in Zürich | weather in Zurich
hotels in São Paulo | hotels in Sao Paulo
museums in Kiev | museums in Kyiv
hospitals in Bombay | hospitals in Mumbai
weather in Portland, OR | weather in Portland, Oregon
weather in Athens, Georgia | weather in Athens, GA
height of Mt Everest | how high is Mount Everest
price of BTC | Bitcoin price
What's the price of ETH? | ethereum price
doge price | price of dogecoin
price of SOL | price of Solana
LINK price | price of Chainlink
price of ETC | ethereum classic price
AAPL price | Apple stock price
Tesla shares price | TSLA price
When was FDR born? | when was Franklin D. Roosevelt born
When did MLK die? | when did Martin Luther King Jr. die
What did Albert Einstein discover? | what did Einstein discover
How old is Joe Biden? | how old is Biden
What does the UN do? | what does the United Nations do
What is the WHO? | what is the World Health Organization
members of NATO | members of the North Atlantic Treaty Organization
When did Man Utd win the cup? | when did Manchester United win the cup
LA Lakers roster | Los Angeles Lakers roster
JS arrays | JavaScript arrays
install VS Code | install Visual Studio Code
PS5 price | PlayStation 5 price
treatment of ADHD | treatment of attention deficit hyperactivity disorder
dose of paracetamol | dose of acetaminophen
wi-fi router price | wifi router price
How do I send an e-mail? | how do I send an email
Is Ann older than Bob? | is Bob younger than Ann
Is Oslo smaller than Rome? | is Rome bigger than Oslo
Is a bus slower than a train? | is a train faster than a bus
Is the mouse eaten by the cat? | does the cat eat the mouse
Was Rome invaded by the Gauls? | did the Gauls invade Rome
Whose son is Luke? | who is Luke the son of
the dog's owner | the owner of the dog
flights from Rome to Oslo | flights to Oslo from Rome
What's the tallest tower in the world? | tallest tower
"""
APART = """
What is 1,000 in binary? | what is 10,000 in binary
What is version 3.10? | what is version 3.1
What is 1.5 million? | what is 1.5 billion
What are Newton's three laws? | What is Newton's third law?
third child of Jacob | three children of Jacob
Who was the 1st president of Brazil? | Who was the 2nd president of Brazil?
What was proposal 123 about? | what was proposal 132 about
chapter 3 verse 5 | chapter 5 verse 3
quotient of 53 and 70 | quotient of 70 and 53
subtract 3 from 9 | subtract 9 from 3
What is 9 minus 3? | what is 3 minus 9
9 - 3 | 3 - 9
divide 8 by 2 | divide 2 by 8
8 divided by 2 | 2 divided by 8
8 / 2 | 8 * 2
ratio of 3 to 5 | ratio of 5 to 3
2 to the power of 8 | 8 to the power of 2
what percent of 50 is 10 | what percent of 10 is 50
convert 5 km to miles | convert 5 miles to km
how many miles in 5 km | how many km in 5 miles
how many dollars is 100 euros | how many euros is 100 dollars
how many feet are in a mile | how many feet are in a yard
convert 5 km to miles | how do I convert 5 km to miles
Is 5 mW safe? | is 5 MW safe
download 5 MB | download 5 Mb
Is 5 g enough? | is 5 kg enough
boil at 100 °C | boil at 100 °F
How many teachers per student? | how many students per teacher
What happened on March 3, 2024? | what happened on March 4, 2024
What happened on March 3, 2024? | what happened on May 3, 2024
What happened on March 3, 2024? | what happened on March 3
What happened on March 3? | what happened in March
What happened on 03/04/2024? | what happened on 2024-04-03
What happened on 03/04/2024? | what happened on 2024-03-04
What happened on 2024-01-02? | what happened on 2024-02-01
Is the shop open at 5 pm? | is the shop open at 5 am
Is the shop open at 12 pm? | is the shop open at 12 am
Is the shop open at 5 pm? | is the shop open at 6 pm
capital of the US | capital of us
population of South America | population of America
population of Great Britain | population of the UK
population of North Korea | population of South Korea
population of New York | population of New York City
weather in Washington | weather in Washington DC
weather in Georgia | weather in Atlanta, Georgia
weather in Portland, OR | weather in Portland, ME
CEO of Google | CEO of Alphabet
CEO of Facebook | CEO of Meta
price of XRP | price of Ripple
price of BTC | price of BCH
price of ETH | price of ETC
What is LINK? | what is Chainlink
What is a doge? | what is dogecoin
What is DC? | what is Washington DC
price of Apple stock | price of apples
What does USA stand for? | what does America stand for
Why was Bombay renamed Mumbai? | why was Mumbai renamed Bombay
Is NYC the same as New York City? | is NYC the same as NYC
Who is Michelle Obama? | who is Barack Obama
Who is Hans Albert Einstein? | who is Albert Einstein
What does WHO do? | who does what
When was Constantinople founded? | when was Istanbul founded
What is Java? | what is JavaScript
What is C? | what is C++
Who is the father of Luke? | who is Luke the father of
Whose son is Luke? | who is Luke's son
Who is Mary's brother? | whose brother is Mary
What is Oslo the capital of? | what is the capital of Oslo
What is glass made of? | what is made of glass
the owner's dog | the dog's owner
Was Rome invaded? | did Rome invade
Was Rome invaded by the Gauls? | were the Gauls invaded by Rome
When was Newton taught? | when did Newton teach
Is the mouse eaten by the cat? | does the mouse eat the cat
Who taught Plato? | who did Plato teach
Who did Brutus kill? | who killed Brutus
Which companies did Google buy? | which companies bought Google
Did France give the US a statue? | did the US give France a statue
Can I lend money to my sister? | can I borrow money from my sister
Can I buy a car from Bob? | can I sell a car to Bob
How do I teach chess? | how do I learn chess
influence of Kant on Hegel | influence of Hegel on Kant
effect of light on plants | effect of plants on light
Does stress cause insomnia? | does insomnia cause stress
man bites dog | dog bites man
chocolate milk recipe | milk chocolate recipe
Is a virus a cell parasite? | is a cell a virus parasite
replace butter with oil | replace oil with butter
oil instead of butter | butter instead of oil
translate hello from English to French | translate hello from French to English
French to English translation | English to French translation
trains from Oslo to Rome | trains from Rome to Oslo
trains to Oslo from Rome | trains to Rome from Oslo
usd to eur rate | eur to usd rate
What comes before Tuesday? | what comes after Tuesday
Did Ajax beat Inter? | did Inter beat Ajax
red car and blue bus | blue car and red bus
Is Ann older than Bob? | is Bob older than Ann
Is Ann older than Bob? | is Ann younger than Bob
Is Oslo smaller than Rome? | is Rome smaller than Oslo
What is bigger than Rome? | what is Rome bigger than
highest lake in Peru | lowest lake in Peru
the biggest lake | a big lake
Is it safe to fly? | is it not safe to fly
flights without stops | flights with stops
life with sugar | life without sugar
Which is red and not round? | which is round and not red
Has it ever failed? | has it never failed
keep a pump from running | keep a pump running
run a script at start | keep a script from running at start
When was it built? | where was it built
Who built the tower? | when was the tower built
How many people built the tower? | who built the tower
Why is the sky blue? | is the sky blue
How long is the film? | how good is the film
Who is the mayor? | who was the mayor
Who will win the race? | who won the race
weather today in Rome | weather tomorrow in Rome
films since 1990 | films until 1990
sales last year | sales this year
Can guests swim and dive? | can guests swim or dive
all dogs in town | male dogs in town
dose of aspirin in children | dose of aspirin
how to learn French for free | how to learn French
Tom Hanks's father | Tom Hanks's father at work
explain recursion | explain recursion with examples
pump temperature under load | pump temperature under load in the whole world
Is the shop open? | is the shop open and why
Is iron harder than gold? | is iron harder than gold and by whom
"""


def pairs(table: str) -> list[tuple[str, str]]:
    rows = (line.partition(" | ") for line in table.strip().split("\n"))
    return [(one.strip(), other.strip()) for one, _, other in rows]


@pytest.mark.parametrize(("one", "other"), pairs(MEET))
def test_one_question_one_key(one: str, other: str) -> None:
    assert keyword_key(one) is not None
    assert keyword_key(one) == keyword_key(other)
    for asked, stored in ((one, other), (other, one)):
        verdict = agree(asked, stored)
        assert verdict.veto is None, verdict.reason


@pytest.mark.parametrize(("one", "other"), pairs(APART))
def test_two_questions_two_keys(one: str, other: str) -> None:
    assert keyword_key(one) is not None or keyword_key(other) is not None
    assert keyword_key(one) != keyword_key(other)
