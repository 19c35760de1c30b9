"""Labelled texts of our own for the classifier: one a line, by the row of the route table they belong to.

Traps (texts that only look like their neighbour class) stand under the class they truly are.
"""

from __future__ import annotations

LABELLED: dict[str, str] = {
    "statement": """
compré un bitcoin la semana pasada
no te preocupes
Muito obrigado pela ajuda
sure, why not
Just kidding
bye for now
I don't know what to say
I don't know why he left
I forgot where I put my keys
nobody knows who wrote it
2 plus 2 equals 4
one moment please
by the way, I like your style
just checking in
pleased to meet you
I like turtles
hello
thanks!
The sky is blue.
ok
Hello there
hello world
HELLO THERE
Good morning everyone
I had pasta for lunch
My favorite color is blue
Nice weather today
BTC is at 50k today
see you tomorrow
we won the game last night
the lakers won last night
My dog ate my homework
Paris is the capital of France
Bitcoin hit a new all time high
That's great news!
What a beautiful day!
how nice of you
lol
haha that's funny
I think you're wrong
You are very helpful
no problem
I'm tired
im so tired
it's raining here
I love the weather in Paris
Python is my favourite language
Just testing
this is a test
Never mind
I don't like this answer
have a nice day
Happy birthday!
Water boils at 100 degrees
The meeting starts at noon.
I bought some ETH yesterday
Ethereum went up 5% today
John bought a car
The cat sat on the mat
great job
well done
Don't worry about it
can't wait!
Sounds good to me
We decided to move on
I voted for proposal 12
Proposal 12 passed
the council approved the budget yesterday
When I was a child I lived in Rome.
What I like about you is your honesty
I know what you did
He told me what time it is
who cares
Congratulations on your new job
Coffee tastes better in the morning
The weather is nice today
The price of bitcoin is too high
Go Lakers!
I want a dog
I would like to visit Japan someday
He asked "why?" and left.
You should try the pizza
Let's go
Remember that I like tea
Rome was not built in a day
Me gustan las tortugas
El cielo es azul
Buenos días
Hoy es lunes
Ich mag Schildkröten
Guten Morgen
Der Himmel ist blau
Heute ist Montag
J'aime les tortues
Le ciel est bleu
Merci beaucoup
Il fait beau aujourd'hui
Mi piacciono le tartarughe
Grazie mille
Eu gosto de tartarugas
Obrigado
私は亀が好きです
こんにちは
空は青い
今日はいい天気ですね
Я люблю черепах
Привет
Небо голубое
我喜欢乌龟
你好
谢谢
天空是蓝色的
!!!
🙂
...
My team won the championship!
I checked the weather this morning
I'm going to the store
The news is depressing
gold is shiny
i love bitcoin
that makes sense, thank you
awesome, thanks a lot!
nah i'm good
We had a great council meeting
My proposal got rejected
It was cold yesterday
I sold all my ETH
cats are better than dogs
you're welcome
goodbye
Good evening
The movie starts at 8
my brother lives in Madrid
I have two dogs and a cat.
Bitcoin is volatile
yes
I don't know
sorry about that
She works as a nurse
omg that is so cool
Vivo en Barcelona
Gracias, eso es todo
El tiempo está horrible hoy
Ich wohne in München
Das ist super
Vielen Dank
J'habite à Paris
C'est génial, merci
Adoro il gelato
昨日映画を見ました
ありがとうございます
我住在上海
昨天下雨了
Я живу в Москве
Спасибо большое
Proposal accepted, great!
the forecast was wrong again
I read the news every day
it's 5 pm
Bitcoin crashed yesterday
my favourite team is the Lakers
Just got home from work
Ok, I'll try that
I appreciate your help
That answer was useless
you are wrong
Hope you have a good day
We're celebrating today
My flight was delayed
estoy cansado
Me encanta este programa
Das Wetter ist schön
Je ne suis pas d'accord
Questo è bello
お腹が空いた
Мне нравится этот город
我今天很忙
""",
    "computable": """
I have 3 boxes with 24 eggs each, how many eggs is that? 3*24
my bill is 84 and we are 7 people, 84/7?
halve 95
double 37
2+2
What is 2+2?
what is 15% of 80
(3+4)*5
7 times 8
10 divided by 4
square root of 144
convert 5 miles to km
how many feet in a mile
5 km in miles
100 fahrenheit to celsius
how many days until Christmas
3 x 4 =
cuanto es 2+2
2加2等于多少
what time is it in Tokyo
WHAT TIME IS IT IN TOKYO
current time in London
time in New York
what time is it
what's the date today
what day is it
time difference between London and Sydney
qué hora es en Madrid
wie spät ist es in Tokio
quelle heure est-il à Montréal
東京は今何時ですか
现在几点
what's 17 * 23
12 squared
whats the time in sydney
how many ounces in a pound
what is twenty percent of fifty
6 feet in cm
what day of the week is July 4 2026
how many weeks between March 1 and June 1
1/3 + 1/6
local time in Nairobi
Wie viel Uhr ist es in New York?
сколько времени в Лондоне
what is 2 to the power of 10
sum of 4, 5 and 6
how many seconds are in a day
time now in Berlin
what's 20% off 80
¿Qué día es hoy?
今日は何日ですか
""",
    "live": """
Will it rain tomorrow?
weather in Paris
weather madrid
Weather
what's the weather like today
how's the weather in Tokyo
is it going to snow in Denver this weekend
how hot is it in Dubai right now
temperature in Berlin
Do I need an umbrella today?
forecast for London
paris forecast
chance of rain in Seattle tomorrow
is it sunny outside
air quality in Delhi
wil it rain tommorow in lisbon
I'm in Paris. Weather tomorrow
NBA scores today
nba SCORES Today
did the Lakers win last night
who won the Celtics game
Lakers score
what's the score of the warriors game
Lakers vs Celtics
when do the Knicks play next
how did the Bulls do last night
premier league standings
who is playing in the nba tonight
who won last night's game?
Real Madrid result
latest news
headlines about AI
what's in the news
top stories today
news about climate change
what's happening in Ukraine
any updates on the election
what happened today
100 usd in eur
dollar to euro
eur/usd
exchange rate usd to jpy
convert 50 pounds to dollars
how many yen is 100 dollars
how much is 20 euros in dollars
price of gold
apple stock price
bitcoin value
BTC worth today
how much is one ethereum
qué tiempo hace en Madrid
va a llover mañana en Sevilla?
¿Quién ganó el partido ayer?
noticias de hoy
100 dólares en euros
tipo de cambio euro dolar
precio del bitcoin
wie wird das wetter morgen in Berlin
regnet es morgen
Nachrichten heute
100 Euro in Dollar
hat Bayern gestern gewonnen
météo paris
quel temps fait-il à Lyon
va-t-il pleuvoir demain
actualités du jour
cours du bitcoin
che tempo fa a Roma
vai chover amanhã
東京の天気
明日は雨が降りますか
最新ニュース
北京天气
今天天气怎么样
美元兑人民币汇率
比特币价格
какая погода в Москве
курс доллара
последние новости
Is it raining in Manchester at the moment
tell me the weather forecast for next Tuesday in Boston
whats the wether in NYC
will there be thunderstorms tonight
How cold will it get tonight in Chicago?
should i bring an umbrella to work tomorrow
any rain expected this weekend in Leeds
Miami humidity
Warriors game score please
has Arsenal won today?
who's winning the Lakers game
nba results last night
Celtics vs Heat score
What games are on tonight in the NBA
Did Golden State beat the Kings?
what's new in tech today
give me the news
Latest headlines from Germany
could you tell me the top news stories
what's the latest on the Mars mission
250 GBP to USD
What's the euro worth in dollars right now?
yen to dollar rate
How many rupees do I get for 100 euros
convert 1000 yen into pounds
tesla share price
how much is bitcoin right now
¿Va a nevar en Granada este fin de semana?
temperatura en Buenos Aires
últimas noticias de España
resultado del partido del Real Madrid
Wie ist das Wetter in Hamburg?
Wie hat Bayern München gespielt?
Brauche ich morgen einen Regenschirm
aktuelle Nachrichten aus Berlin
wie viel sind 50 Dollar in Euro
Va-t-il neiger à Grenoble ce week-end ?
Dernières nouvelles de Paris
combien font 20 dollars en euros
大阪の明日の天気を教えて
今日のニュース
上海明天会下雨吗
湖人队昨天赢了吗
Какая погода будет завтра в Казани?
кто выиграл матч вчера
сколько долларов в 100 евро
any chance of showers later today in Bristol
Do we expect heavy snow in Montreal on Friday?
weather 10 day forecast Chicago
what should I wear outside today, is it cold?
knicks score tonight
Who won between the Nets and the Magic last night
NBA standings
fetch me the headlines
Any news from Gaza?
how many euros is 75 pounds
1 eur = ? usd
GBPUSD rate
dogecoin price in euros
Cuánto vale el dólar hoy
¿Cómo está el clima en Lima?
Gibt es Neuigkeiten über die Wahl?
Quel est le score du match PSG Marseille ?
notizie di oggi
cotação do dólar hoje
новости спорта
ニューヨークの気温は?
1000円は何ドルですか
一美元等于多少人民币
""",
    "historical": """
Was there ever a vote on hiring a second auditor?
according to the documents, who approves expenses?
What was propsal 123
what decisions did we make last week
what decisions were made in the last council meeting
what did alice say about the treasury in the meeting
what is being voted on right now
find the section on refunds in the contract I uploaded
what documents have I uploaded
what did you tell me earlier
who proposed the treasury change
What was proposal 123?
proposal 123
tell me about proposal #123
proposal #123 result
PROPOSAL 123
who voted against proposal 7
did prop 45 pass
what did we decide about the treasury
outcome of the vote on fees
when was proposal 12 executed
summary of NIP-4
minutes of the last council meeting
previous decisions on grants
list all proposals about fees
which proposals passed last year
who voted on the fee change proposal
what did the council decide last week
what was decided at the last meeting
was the budget approved by the committee
what was the quorum for the last vote
show me recent governance decisions
how did the community vote on the upgrade
what does our handbook say about vacation
according to the bylaws, who can vote
what did I ask you yesterday
proposal one hundred twenty three
did the motion to raise fees pass
result of motion 5
who proposed proposal 3
how much did proposal 88 ask for
propuesta 123
¿Qué fue la propuesta 45?
qué decidimos sobre la tesorería
Vorschlag 123
Was war Vorschlag 12?
haben wir über das Budget abgestimmt
proposition 123
Quelle était la proposition 7 ?
qu'avons-nous décidé sur le budget
提案123は何でしたか
предложение 123
что мы решили о казне
上次会议决定了什么
Can you summarise proposal 42 for me
Has proposal 17 been approved?
how many votes did proposal 33 get
what happened to proposal #9
what did the DAO vote on last month
Who supported the treasury proposal?
show the voting history of the council
why was proposal 8 rejected
what were the results of our last vote
any past proposals on validator rewards?
What decisions were made in the last governance call?
what is the current state of proposal 51
Did we approve the marketing budget?
who is the author of proposal 77
find the minutes from the March meeting
in our documents, what is the refund policy
¿Se aprobó la propuesta 12?
resultado de la votación sobre tarifas
Wurde Vorschlag 7 angenommen?
Protokoll der letzten Sitzung
La proposition 15 a-t-elle été adoptée ?
предложение №45 прошло?
提案45の結果は
提案 12 通过了吗
vote tally for proposal 19
what's in proposal 300
were there any proposals about staking in 2023?
when did the council last meet
did the community reject the new logo proposal
Explain proposal 61 in simple terms
how did alice vote on proposal 5
what was our decision about hosting
quién propuso la propuesta 9
Wer hat gegen Vorschlag 3 gestimmt?
proposta 88 foi aprovada?
第5号议案的投票结果
""",
    "generative": """
no idea how to start a business
how many calories in a cup of rice
what is the proposal of a PhD thesis supposed to contain
how to convert celsius to fahrenheit
I don't know how to install IPFS
Explain quantum computing
what is IPFS
waht is ipfs
why is the sky blue
capital of France
who wrote Hamlet
who wrote the bitcoin whitepaper
what is the price of freedom
score a deal
2pac albums
news anchor salary
what is the weather underground album
explain how weather forecasting works
marriage proposal ideas
how do I write a business proposal
who voted for Trump in 2016
who proposed the theory of relativity
result of the brexit referendum
history of Rome
what was the roman empire
propose a toast
define entropy
ipfs cid meaning
quantum computing
write a haiku about rain
how does the exchange rate work
what causes rain
who invented basketball
rules of basketball
history of the lakers
compare rust and go
difference between weather and climate
translate good morning to german
best restaurants in paris
what is the boiling temperature of water
who won the 2014 world cup
how do I improve my credit score
film score composers
what does under the weather mean
will it rain on our parade
what is the temperature of the sun
why did bitcoin crash in 2022
what is bitcoin
should I invest in gold
how do magic tricks work
who is on the 100 dollar bill
how to lose 10 pounds
tell me a joke
I wonder who wrote Hamlet
I want to know how IPFS works
Do you know the capital of Peru
You like pizza, don't you
sky is blue why
I need a list of prime numbers
My card has not arrived what should I do
In 2016, who won the election
companies that went bankrupt in 2023
books written by Orwell
9/11 attacks
what is quorum
how does a dao work
que es ipfs
explícame la computación cuántica
por qué el cielo es azul
capital de Francia
was ist ipfs
erkläre mir Quantencomputing
Hauptstadt von Frankreich
c'est quoi ipfs
explique-moi la blockchain
quelle est la capitale du Japon
cos'è una blockchain
spiegami la relatività
o que é ipfs
IPFSとは
量子コンピュータについて説明して
什么是IPFS
为什么天空是蓝色的
что такое ipfs
почему небо голубое
объясни квантовые вычисления
What makes rainbows form?
how are hurricanes named
give me a recipe for banana bread
what's the best NBA team of all time
tell me about the history of money
who scored the soundtrack for Inception
how does a news aggregator work
explain the weather in a poem
what's the story behind the euro
is bitcoin a good investment
what is proof of stake
proposal template for a research grant
How should I propose to my girlfriend?
who voted in the 1920 US election
what is a vote of no confidence
meaning of the word headline
How do umbrellas work
what does a price tag look like
cold war summary
time management tips
why do people like sports
what is inflation
best currency to invest in for beginners
tips for a job interview
weather the storm meaning
Can you help me plan a birthday party?
name three planets
how long do cats live
Describe the water cycle
What's the difference between IPFS and HTTP?
what's your opinion on pineapple pizza
dinosaurs
machine learning vs deep learning
is a tomato a fruit
give me five synonyms for quick
which planet is the hottest
the price we pay for love explained
¿Quién escribió Don Quijote?
¿Cómo se hace una paella?
escribe un poema sobre el mar
Wer hat Faust geschrieben?
Warum ist der Himmel blau
Was ist der Unterschied zwischen IPFS und HTTP
Pourquoi le ciel est bleu ?
qui a écrit Les Misérables
écris un poème sur la pluie
chi ha dipinto la Gioconda
日本の首都はどこですか
なぜ空は青いのですか
写一首关于春天的诗
中国的首都是哪里
кто написал Войну и мир
напиши стихотворение о весне
what is a council of elders
how do voting machines work
who voted to leave the eu
write me a cover letter
what's the tallest mountain
difference between motion and velocity
Newton's laws of motion
how do i stop procrastinating
what is the exchange rate mechanism
who sang Here Comes the Rain Again
what is the score of a film called
golden state killer
is chelsea boots fashionable
chelsea boots
thunder and lightning explained
the heat equation
cloud computing weather analogy
currency of Japan
what was the first newspaper
history of the us dollar
top 10 books of all time
new years resolution ideas
indecent proposal plot
bitcoin halving explained
eth vs btc
cuál es el río más largo del mundo
Was bedeutet Demokratie?
comment faire une omelette
相対性理論とは何ですか
как работает блокчейн
如何学习英语
""",
    "unclassified": """
how are you
how are you doing today?
why?
what about him?
como estas
wie geht es dir
""",
}

ROWS: list[tuple[str, str]] = [
    (label, text) for label, block in LABELLED.items() for text in block.strip().split("\n")
]
