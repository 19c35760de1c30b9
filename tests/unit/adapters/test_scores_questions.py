"""Which texts are questions about games, and their slots; follow-ups; traps.

The rows are the author's own; the figures of a question set that nobody here wrote are measured elsewhere.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.grammar import when as time_words
from adapters.scores.days import eastern_day
from adapters.scores.follow import follow_up, phrase
from adapters.scores.questions import read_question
from adapters.scores.slots import METRICS, Asked, asked_of, days_of, key_of
from adapters.scores.teams import LEAGUES, NAMES, TEAMS, from_feed, team_of
from node.core.model import CERTAIN, CLAIM

NOW = datetime(2026, 5, 18, 9, 0, tzinfo=UTC)
"""A Monday."""

QUESTIONS = """
did the lakers beat the celtics last night|nba LAL BOS yesterday winner
NBA scores today|nba - - today score
nba SCORES Today|nba - - today score
did the Lakers win last night|nba LAL - yesterday winner
who won the Celtics game|nba BOS - - winner
Lakers score|nba LAL - - score
what's the score of the warriors game|nba GSW - - score
Lakers vs Celtics|nba LAL BOS - score
when do the Knicks play next|nba NYK - - schedule
When do the Lakers play next?|nba LAL - - schedule
how did the Bulls do last night|nba CHI - yesterday score
premier league standings|epl - - - standings
who is playing in the nba tonight|nba - - tonight schedule
who won last night's game?|- - - yesterday winner
Real Madrid result|laliga RMA - - score
Warriors game score please|nba GSW - - score
has Arsenal won today?|epl ARS - today winner
who's winning the Lakers game|nba LAL - - score
nba results last night|nba - - yesterday score
Celtics vs Heat score|nba BOS MIA - score
What games are on tonight in the NBA|nba - - tonight schedule
Did Golden State beat the Kings?|nba GSW SAC - winner
knicks score tonight|nba NYK - tonight score
Who won between the Nets and the Magic last night|nba BKN ORL yesterday winner
NBA standings|nba - - - standings
Quel est le score du match PSG Marseille ?|ligue1 PSG MAR - score
did the kings win|nba SAC - - winner
hey did the lakrs win yesterdy|nba LAL - yesterday winner
who won the lakers game|nba LAL - - winner
¿Ganaron los Lakers anoche?|nba LAL - yesterday winner
resultado de los Lakers de ayer|nba LAL - yesterday score
cuándo juegan los lakers|nba LAL - - schedule
Wann spielen die Lakers?|nba LAL - - schedule
Haben die Lakers gestern gewonnen?|nba LAL - yesterday winner
Wie haben die Lakers gestern gespielt?|nba LAL - yesterday score
Les Lakers ont-ils gagné hier soir ?|nba LAL - yesterday winner
À quelle heure jouent les Lakers ce soir ?|nba LAL - tonight schedule
a che ora giocano i lakers stasera|nba LAL - tonight schedule
i lakers hanno vinto ieri?|nba LAL - yesterday winner
os lakers ganharam ontem?|nba LAL - yesterday winner
placar do jogo dos lakers|nba LAL - - score
レイカーズの試合結果|nba LAL - - score
昨日のレイカーズの試合結果は？|nba LAL - yesterday score
レイカーズは勝った？|nba LAL - - winner
レイカーズの次の試合はいつ？|nba LAL - - schedule
今日のNBAの試合結果|nba - - today score
湖人昨天赢了吗|nba LAL - yesterday winner
湖人对凯尔特人比分|nba LAL BOS - score
今天NBA比分|nba - - today score
湖人什么时候比赛|nba LAL - - schedule
как сыграли лейкерс вчера|nba LAL - yesterday score
Лейкерс выиграли вчера?|nba LAL - yesterday winner
когда играют Лейкерс|nba LAL - - schedule
счёт матча Лейкерс Селтикс|nba LAL BOS - score
результаты НБА за вчера|nba - - yesterday score
LAL vs BOS|nba LAL BOS - score
LAL @ DEN score|nba LAL DEN - score
gsw score|nba GSW - - score
did the 76ers win|nba PHI - - winner
sixers game last night|nba PHI - yesterday score
utah jazz score|nba UTA - - score
final score of the heat game|nba MIA - - score
who won the heat game last night|nba MIA - yesterday winner
is there a lakers game tonight|nba LAL - tonight schedule
do the warriors play tomorrow?|nba GSW - tomorrow schedule
what time is the lakers game tonight|nba LAL - tonight schedule
who do the lakers play next|nba LAL - - schedule
lakers schedule|nba LAL - - schedule
lakers schedule this week|nba LAL - this week schedule
did the lakers lose|nba LAL - - winner
what was the final score of lakers celtics|nba LAL BOS - score
score for the lakers and celtics game|nba LAL BOS - score
any idea how the lakers did last night?|nba LAL - yesterday score
did the yankees win yesterday|mlb NYY - yesterday winner
chiefs vs bills score|nfl KC BUF - score
cowboys score|nfl DAL - - score
nfl scores sunday|nfl - - sunday score
maple leafs game last night|nhl TOR - yesterday score
when do the packers play|nfl GB - - schedule
did manchester united win|epl MAN - - winner
man city vs real madrid score|ucl MNC RMA - score
wann spielt Bayern München|bundesliga MUN - - schedule
hat bayern gestern gewonnen|bundesliga MUN - yesterday winner
Bundesliga Ergebnisse|bundesliga - - - score
resultados de la liga|laliga - - - score
premier league results yesterday|epl - - yesterday score
did boston win last night|nba BOS - yesterday winner
lakers game friday|nba LAL - friday schedule
lakers celtics score on november 21 2025|nba LAL BOS 2025-11-21 score
did the suns win on friday|nba PHX - friday winner
bulls bucks score|nba CHI MIL - score
what was the score of the last lakers game|nba LAL - - score
when is the next lakers game|nba LAL - - schedule
next warriors game|nba GSW - - schedule
what's the lakers score right now|nba LAL - now score
show me the nba standings|nba - - - standings
how many points did the lakers score last night|nba LAL - yesterday score
are the knicks winning|nba NYK - - score
who won the nba games last night|nba - - yesterday winner
Who did the Celtics play yesterday?|nba BOS - yesterday score
Are the Nuggets playing tonight?|nba DEN - tonight schedule
okc thunder vs denver nuggets last night|nba OKC DEN yesterday score
spurs score|nba SAS - - score
lakers tomorrow|nba LAL - tomorrow schedule
basketball scores|nba - - - score
nba games today|nba - - today schedule
nba games yesterday|nba - - yesterday score
scoreboard nba|nba - - - score
did the raptors win 3 days ago|nba TOR - today-3d winner
Boston Celtics box score yesterday|nba BOS - yesterday score
did the mavs win last night?|nba DAL - yesterday winner
DID THE MAVS WIN LAST NIGHT|nba DAL - yesterday winner
so umm did the knicks beat the sixers yday|nba NYK PHI yesterday winner
who beat the lakers last night|nba LAL - yesterday winner
what is the score between miami and boston|nba MIA BOS - score
miami vs boston nba score|nba MIA BOS - score
Lakers–Celtics score|nba LAL BOS - score
warriors-lakers tonight|nba GSW LAL tonight score
what time do the celtics tip off|nba BOS - - schedule
Who won Lakers or Celtics?|nba LAL BOS - winner
give me the latest NBA scores|nba - - - score
wer hat das spiel lakers gegen celtics gewonnen|nba LAL BOS - winner
quién ganó el partido de los Celtics anoche|nba BOS - yesterday winner
qui a gagné entre les Lakers et les Celtics hier ?|nba LAL BOS yesterday winner
Wie steht es bei den Lakers?|nba LAL - - score
Did the Dubs win?|nba GSW - - winner
what's the score in the knicks game rn|nba NYK - - score
score update lakers|nba LAL - - score
lakers result|nba LAL - - score
did LA beat Boston|nba LAL BOS - winner
how'd the lakers do|nba LAL - - score
hows the lakers game going|nba LAL - - score
what's the status of the celtics game|nba BOS - - score
nba finals score|nba - - - score
who is playing tonight in the nba|nba - - tonight schedule
any nba games on tonight?|nba - - tonight schedule
which teams play tonight in the nba|nba - - tonight schedule
When's tip off for Lakers vs Nuggets|nba LAL DEN - schedule
what time do the lakers play today|nba LAL - today schedule
lakers next game|nba LAL - - schedule
next game for the celtics|nba BOS - - schedule
nba schedule for november 25|nba - - 2026-11-25 schedule
who won the nba game between lakers and celtics on 2025-12-25|nba LAL BOS 2025-12-25 winner
how many points did the celtics win by last night|nba BOS - yesterday margin
Who won, Lakers or Warriors?|nba LAL GSW - winner
score of suns vs mavs|nba PHX DAL - score
heat celtics|nba MIA BOS - score
was there a lakers game yesterday|nba LAL - yesterday score
has the lakers game started|nba LAL - - score
is the lakers game over|nba LAL - - score
who is leading the lakers game|nba LAL - - score
live score lakers|nba LAL - - score
nba live scores|nba - - - score
nba tonight|nba - - tonight score
¿Quién ganó anoche, los Lakers o los Celtics?|nba LAL BOS yesterday winner
¿A qué hora juegan los Lakers hoy?|nba LAL - today schedule
marcador de los warriors|nba GSW - - score
¿Cómo quedaron los Lakers ayer?|nba LAL - yesterday score
partidos de la NBA hoy|nba - - today schedule
¿Ganó el Real Madrid ayer?|laliga RMA - yesterday winner
resultados de la nba de anoche|nba - - yesterday score
cómo va el partido de los lakers|nba LAL - - score
¿Jugaron los Celtics ayer?|nba BOS - yesterday score
resultado lakers celtics|nba LAL BOS - score
Wer hat gestern das Spiel der Lakers gewonnen?|nba LAL - yesterday winner
Wie ist das Spiel der Lakers ausgegangen?|nba LAL - - score
NBA Ergebnisse von gestern|nba - - yesterday score
Haben die Warriors gewonnen?|nba GSW - - winner
Wann ist das nächste Spiel der Celtics?|nba BOS - - schedule
Wie steht's bei den Celtics?|nba BOS - - score
Spielen die Lakers heute?|nba LAL - today schedule
Punktestand Lakers Celtics|nba LAL BOS - score
Qui a gagné le match des Lakers hier soir ?|nba LAL - yesterday winner
score des Lakers|nba LAL - - score
résultats NBA de la nuit dernière|nba - - yesterday score
Les Celtics ont gagné hier ?|nba BOS - yesterday winner
Quand jouent les Lakers ?|nba LAL - - schedule
quel est le résultat du match Lakers Celtics|nba LAL BOS - score
Est-ce que les Warriors ont gagné hier ?|nba GSW - yesterday winner
chi ha vinto tra lakers e celtics ieri|nba LAL BOS yesterday winner
risultato dei lakers|nba LAL - - score
risultati nba di ieri|nba - - yesterday score
quando giocano i lakers|nba LAL - - schedule
quem ganhou o jogo dos lakers ontem|nba LAL - yesterday winner
resultado do jogo dos celtics|nba BOS - - score
quando os lakers jogam|nba LAL - - schedule
jogos da nba hoje|nba - - today schedule
昨日のNBAの結果は？|nba - - yesterday score
レイカーズ対セルティックスのスコア|nba LAL BOS - score
ウォリアーズは昨日勝ちましたか？|nba GSW - yesterday winner
今夜のNBAの試合は？|nba - - tonight schedule
レイカーズの試合は何時から？|nba LAL - - schedule
セルティックスの次の試合|nba BOS - - schedule
勇士队今天的比分是多少？|nba GSW - today score
湖人队昨晚赢了吗？|nba LAL - yesterday winner
今天有哪些NBA比赛？|nba - - today schedule
湖人对勇士谁赢了？|nba LAL GSW - winner
凯尔特人下一场比赛是什么时候|nba BOS - - schedule
Кто выиграл матч Лейкерс — Селтикс вчера?|nba LAL BOS yesterday winner
Когда следующая игра Лейкерс?|nba LAL - - schedule
Как сыграли «Уорриорз»?|nba GSW - - score
Какой счёт в матче Лейкерс?|nba LAL - - score
Результаты матчей НБА сегодня|nba - - today score
во сколько играет Лейкерс сегодня|nba LAL - today schedule
how did the nba games go last night|nba - - yesterday score
gimme the final for knicks v pacers|nba NYK IND - score
i missed the lakers game last night, what happened?|nba LAL - yesterday score
lemme know if the mavs won yesterday|nba DAL - yesterday winner
quick q: did golden state win last night|nba GSW - yesterday winner
did the thunder beat the wolves|nba OKC MIN - winner
who's up, lakers or suns?|nba LAL PHX - score
Do the Hawks play on Friday?|nba ATL - friday schedule
Who do the Bucks face tomorrow?|nba MIL - tomorrow schedule
Did Philly win?|nba PHI - - winner
did new york win last night|nba NYK - yesterday winner
pelicans vs grizzlies final score yesterday|nba NOP MEM yesterday score
clippers-nuggets score|nba LAC DEN - score
what did the warriors lose by last night|nba GSW - yesterday margin
did the lakers win their game yesterday|nba LAL - yesterday winner
is milwaukee playing tonight|nba MIL - tonight schedule
have the cavs won today|nba CLE - today winner
did the lakers win or lose yesterday|nba LAL - yesterday winner
hey there! any chance you know whether the raptors won last night?|nba TOR - yesterday winner
lakers scor tonite|nba LAL - tonight score
cletics score|nba BOS - - score
wariors game last nite|nba GSW - yesterday score
hawks magic score|nba ATL ORL - score
what was the score when the lakers played the celtics yesterday|nba LAL BOS yesterday score
did the mets beat the braves|mlb NYM ATL - winner
oilers flames score|nhl EDM CGY - score
score of the super bowl|nfl - - - score
when do the dodgers play next|mlb LAD - - schedule
rangers score|mlb TEX - - score
wnba scores today|wnba - - today score
did the indiana fever win last night|wnba IND - yesterday winner
inter miami score|mls MIA - - score
real madrid vs barcelona|laliga RMA BAR - score
liverpool fc score|epl LIV - - score
did liverpool win yesterday|epl LIV - yesterday winner
champions league results|ucl - - - score
who's the lakers' next opponent|nba LAL - - schedule
nuggets lost last night?|nba DEN - yesterday winner
did the heat lose again|nba MIA - - winner
how many games are there in the nba tonight|nba - - tonight schedule
Bayern gegen Dortmund Ergebnis|bundesliga MUN DOR - score
Wann spielen die Warriors das nächste Mal?|nba GSW - - schedule
Кто победил вчера: Лейкерс или Уорриорз?|nba LAL GSW yesterday winner
Could you check whether the Knicks won on Wednesday?|nba NYK - wednesday winner
昨晚勇士对湖人的比分|nba GSW LAL yesterday score
did the knicks win last night|nba NYK - yesterday winner
DID THE KNICKS WIN LAST NIGHT|nba NYK - yesterday winner
knicks score|nba NYK - - score
whats the score of the knicks game|nba NYK - - score
What's the Warriors score right now?|nba GSW - now score
warriors lakers score|nba GSW LAL - score
Who won the Bucks vs Heat game yesterday?|nba MIL MIA yesterday winner
how did the sixers do last night|nba PHI - yesterday score
hey so how'd my Mavs do yesterday|nba DAL - yesterday score
Did Denver beat Phoenix on Friday?|nba DEN PHX friday winner
nuggets suns final score friday|nba DEN PHX friday score
when do the celtics play next|nba BOS - - schedule
Who do the Celtics play next?|nba BOS - - schedule
Who do Boston play next?|nba BOS - - schedule
who does golden state play tonight|nba GSW - tonight schedule
who are the lakers playing tonight?|nba LAL - tonight schedule
What time do the Raptors tip off tomorrow?|nba TOR - tomorrow schedule
is there basketball tonight, nba i mean|nba - - tonight schedule
any nba games tonight|nba - - tonight schedule
NBA schedule for tomorrow|nba - - tomorrow schedule
nba scores from last night please|nba - - yesterday score
all the scores from yesterdays nba games|nba - - yesterday score
who won the nba games yesterday|nba - - yesterday winner
give me last night's NBA results|nba - - yesterday score
show me the nba scoreboard|nba - - - score
who is top of the western conference|nba - - - standings
nba standings|nba - - - standings
where are the Knicks in the standings|nba NYK - - standings
who's first in the eastern conference right now|nba - - now standings
what place are the Cavs in?|nba CLE - - standings
what's the Thunder's record|nba OKC - - standings
Did OKC win?|nba OKC - - winner
did okc win against the spurs|nba OKC SAS - winner
did the spurs lose again last nite|nba SAS - yesterday winner
did we win last night? go hawks|nba ATL - yesterday winner
Hi! My dad is a huge Pistons fan, could you tell me if they won yesterday?|nba DET - yesterday winner
my son wants to know when the Bulls play next|nba CHI - - schedule
can u tell me the score of the bulls game pls|nba CHI - - score
Excuse me, which is the result of the match Miami Heat against Orlando Magic?|nba MIA ORL - score
WAS @ BOS SCORE|nba WAS BOS - score
min vs dal score|nba MIN DAL - score
Did LA win last night?|nba LAL - yesterday winner
please the result of lakers yesterday|nba LAL - yesterday score
I want know who win between Lakers and Clippers yesterday|nba LAL LAC yesterday winner
how much was the score in game of Rockets last night|nba HOU - yesterday score
Lakrs score tonight|nba LAL - tonight score
celtcs vs knicks score|nba BOS NYK - score
who won teh cavs game|nba CLE - - winner
did teh clippers win yestarday|nba LAC - yesterday winner
CAN YOU TELL ME WHO WON THE NETS GAME LAST NIGHT|nba BKN - yesterday winner
WHO WON BETWEEN THE KINGS AND THE BLAZERS|nba SAC POR - winner
lakers win?|nba LAL - - winner
lakers game on?|nba LAL - - schedule
Are the Grizzlies playing today?|nba MEM - today schedule
do the wolves play tonight|nba MIN - tonight schedule
Is there a Pacers game tonight?|nba IND - tonight schedule
is Utah playing tomorrow in the nba|nba UTA - tomorrow schedule
when is the next Pelicans game|nba NOP - - schedule
when's the next sixers game|nba PHI - - schedule
next jazz game|nba UTA - - schedule
next game of the Hornets|nba CHA - - schedule
last game of the Hornets|nba CHA - - score
what was the result of the last Wizards game|nba WAS - - score
What was the final score in the Hawks game on Wednesday?|nba ATL - wednesday score
nba scores 3 days ago|nba - - today-3d score
did the magic win two days ago|nba ORL - today-2d winner
Who won, Lakers or Celtics?|nba LAL BOS - winner
who won last night lakers or suns|nba LAL PHX yesterday winner
Who's winning the Knicks game?|nba NYK - - score
who is winning, heat or magic|nba MIA ORL - score
is boston winning against miami right now nba|nba BOS MIA now score
are the bulls losing|nba CHI - - score
are the Cavs up or down right now|nba CLE - now score
by how much did the thunder win last night|nba OKC - yesterday margin
How many points did the Lakers score last night?|nba LAL - yesterday score
how many points did the suns lose by yesterday|nba PHX - yesterday margin
tell me the score of GSW vs LAL|nba GSW LAL - score
LAL BOS score|nba LAL BOS - score
GSW game tonight?|nba GSW - tonight schedule
lal vs gsw last night|nba LAL GSW yesterday score
what did the Mavericks do yesterday?|nba DAL - yesterday score
yo did them timberwolves pull it off last night?|nba MIN - yesterday winner
so... did my Raptors finally win one yesterday?|nba TOR - yesterday winner
lol how bad did the wizards lose last night|nba WAS - yesterday margin
any chance the Blazers won yesterday|nba POR - yesterday winner
Have the Suns won today?|nba PHX - today winner
is the lakers game over yet|nba LAL - - score
Has the Heat game finished?|nba MIA - - score
I missed the game, what was the Rockets score yesterday?|nba HOU - yesterday score
Quick one: Lakers result last night?|nba LAL - yesterday score
basketball scores yesterday|nba - - yesterday score
any good basketball games on tonight?|nba - - tonight schedule
What basketball games are on this weekend?|nba - - weekend schedule
who plays this weekend in the nba|nba - - weekend schedule
what games are on tonight|- - - tonight schedule
who won last night|- - - yesterday winner
who won the game last night?|- - - yesterday winner
what was the score last night|- - - yesterday score
scores?|- - - - score
when do the knicks and nets face each other|nba NYK BKN - schedule
when will the Lakers face the Warriors again?|nba LAL GSW - schedule
when's lakers vs celtics|nba LAL BOS - schedule
next lakers vs celtics game|nba LAL BOS - schedule
Do Milwaukee and Chicago play each other tonight|nba MIL CHI tonight schedule
Who is playing against the Nuggets tomorrow?|nba DEN - tomorrow schedule
who do the Kings have on friday, nba|nba SAC - friday schedule
the lakers, when do they play again?|nba LAL - - schedule
the knicks, did they win?|nba NYK - - winner
Toronto vs Boston NBA score|nba TOR BOS - score
score Toronto Raptors|nba TOR - - score
New York Knicks result|nba NYK - - score
San Antonio Spurs schedule|nba SAS - - schedule
Los Angeles Lakers games this week|nba LAL - this week schedule
how are the lakers doing tonight|nba LAL - tonight score
update on the warriors game|nba GSW - - score
latest score lakers|nba LAL - - score
lakers game update|nba LAL - - score
lakers yesterday|nba LAL - yesterday score
Did the Chiefs win on Sunday?|nfl KC - sunday winner
chiefs score|nfl KC - - score
nfl scores|nfl - - - score
NFL games today|nfl - - today schedule
who won the eagles cowboys game|nfl PHI DAL - winner
when do the packers play next|nfl GB - - schedule
what time do the 49ers play today|nfl SF - today schedule
who won thursday night football|nfl - - thursday winner
Did the Steelers beat the Ravens last week?|nfl PIT BAL last week winner
bills vs patriots score right now|nfl BUF NE now score
did the Dodgers win yesterday|mlb LAD - yesterday winner
yankees red sox score|mlb NYY BOS - score
mlb scores last night|mlb - - yesterday score
when do the Cubs play next?|mlb CHC - - schedule
hockey scores tonight|nhl - - tonight score
did the maple leafs win last night|nhl TOR - yesterday winner
who won the Bruins game?|nhl BOS - - winner
oilers next game|nhl EDM - - schedule
nhl games tomorrow|nhl - - tomorrow schedule
Did Arsenal win yesterday?|epl ARS - yesterday winner
man city vs liverpool score|epl MNC LIV - score
what was the chelsea score|epl CHE - - score
when do manchester united play next|epl MAN - - schedule
Real Madrid Barcelona result|laliga RMA BAR - score
did bayern win on saturday|bundesliga MUN - saturday winner
champions league results from tuesday|ucl - - tuesday score
who plays in the champions league tonight|ucl - - tonight schedule
premier league table|epl - - - standings
who won the f1 race yesterday|f1 - - yesterday winner
ufc results last night|ufc - - yesterday score
who won the tennis final today|tennis - - today winner
ganaron los lakers anoche|nba LAL - yesterday winner
¿Cómo quedaron los Celtics ayer?|nba BOS - yesterday score
como quedo el partido de los warriors|nba GSW - - score
quién ganó el partido de los Bulls ayer|nba CHI - yesterday winner
resultado del partido Lakers contra Suns|nba LAL PHX - score
a qué hora juegan los Knicks hoy|nba NYK - today schedule
cuándo juegan los Heat|nba MIA - - schedule
¿Contra quién juegan los Mavericks mañana?|nba DAL - tomorrow schedule
resultados de la nba de ayer|nba - - yesterday score
hay partidos de nba esta noche?|nba - - tonight schedule
ganó el Real Madrid ayer?|laliga RMA - yesterday winner
cuando juega el barca|laliga BAR - - schedule
marcador de los lakers|nba LAL - - score
clasificación de la nba|nba - - - standings
haben die Lakers gestern gewonnen|nba LAL - yesterday winner
Haben die Mavericks gewonnen?|nba DAL - - winner
Wie haben die Warriors gestern gespielt?|nba GSW - yesterday score
wie steht es bei den Celtics|nba BOS - - score
wie ging das Spiel der Bulls gestern aus|nba CHI - yesterday score
wann spielen die Lakers das nächste mal|nba LAL - - schedule
Wann spielt Dallas gegen Boston in der NBA?|nba DAL BOS - schedule
gegen wen spielen die Knicks heute abend|nba NYK - tonight schedule
welche nba spiele gibt es heute|nba - - today schedule
wer hat gestern gewonnen, Lakers oder Suns?|nba LAL PHX yesterday winner
bundesliga tabelle|bundesliga - - - standings
est-ce que les Lakers ont gagné hier|nba LAL - yesterday winner
Les Celtics ont-ils gagné hier soir ?|nba BOS - yesterday winner
qui a gagné le match des Bulls hier|nba CHI - yesterday winner
quel est le score des Warriors|nba GSW - - score
résultats nba de la nuit dernière|nba - - yesterday score
quand jouent les Spurs|nba SAS - - schedule
contre qui jouent les Lakers demain|nba LAL - tomorrow schedule
à quelle heure joue le PSG ce soir|ligue1 PSG - tonight schedule
y a-t-il des matchs nba ce soir ?|nba - - tonight schedule
classement nba|nba - - - standings
score lakers celtics|nba LAL BOS - score
i Lakers hanno vinto ieri?|nba LAL - yesterday winner
chi ha vinto tra Lakers e Celtics|nba LAL BOS - winner
quando gioca la juventus|seriea JUV - - schedule
resultado dos Bulls ontem|nba CHI - yesterday score
quem ganhou o jogo dos Warriors|nba GSW - - winner
レイカーズの試合結果は?|nba LAL - - score
昨日のNBAの結果|nba - - yesterday score
ウォリアーズは昨日勝った?|nba GSW - yesterday winner
セルティックスの次の試合はいつ|nba BOS - - schedule
Лейкерс вчера выиграли?|nba LAL - yesterday winner
результаты нба вчера|nba - - yesterday score
кто выиграл матч Селтикс|nba BOS - - winner
今天NBA比赛结果|nba - - today score
勇士下一场比赛是什么时候|nba GSW - - schedule
Wizards score?|nba WAS - - score
anyone know the wizards score|nba WAS - - score
whats the lakers at right now|nba LAL - now score
what was the hornets result on tuesday|nba CHA - tuesday score
WHO WON THE HEAT GAME YESTERDAY|nba MIA - yesterday winner
DID THE WIZARDS WIN|nba WAS - - winner
WHAT IS THE SCORE OF THE LAL BOS GAME|nba LAL BOS - score
NBA SCORES TONIGHT|nba - - tonight score
DEN @ PHX SCORE|nba DEN PHX - score
den vs lal score|nba DEN LAL - score
when is Philadelphia playing next|nba PHI - - schedule
When does Milwaukee play tomorrow?|nba MIL - tomorrow schedule
who does Cleveland play on wednesday|nba CLE - wednesday schedule
did detroit lose last night|nba DET - yesterday winner
did portland beat sacramento|nba POR SAC - winner
so, the Heat... did they win yesterday or what|nba MIA - yesterday winner
my team is the nuggets, did they win last night?|nba DEN - yesterday winner
im a kings fan how did we do yesterday|nba SAC - yesterday score
As a Raptors fan I need to know: did we win last night?|nba TOR - yesterday winner
can you please check the score of yesterday's Warriors game for me|nba GSW - yesterday score
could you look up who won Mavs Spurs on Friday|nba DAL SAS friday winner
what were the results of all NBA games on Thursday|nba - - thursday score
how many nba games are there today|nba - - today schedule
which nba teams play tomorrow?|nba - - tomorrow schedule
who's on tonight in the nba|nba - - tonight schedule
tonight's nba games|nba - - tonight schedule
tonights nba schedule|nba - - tonight schedule
nba matchups tomorrow|nba - - tomorrow schedule
anything on in the nba tonight|nba - - tonight schedule
is there an nba game on right now|nba - - now schedule
what time does the knicks game start tonight|nba NYK - tonight schedule
what time do the grizzlies start|nba MEM - - schedule
at what time is lakers against warriors today|nba LAL GSW today schedule
lakers tipoff time tomorrow|nba LAL - tomorrow schedule
are the pelicans at home tonight|nba NOP - tonight schedule
what day do the bucks play the bulls|nba MIL CHI - schedule
when do the lakers meet the celtics|nba LAL BOS - schedule
upcoming suns games|nba PHX - - schedule
the next opponent of the Rockets|nba HOU - - schedule
do the hornets have a game tomorrow|nba CHA - tomorrow schedule
do the nets have a game today?|nba BKN - today schedule
when did the Jazz last play|nba UTA - - score
who did the pacers play last night|nba IND - yesterday score
who did the clippers lose to yesterday|nba LAC - yesterday winner
who beat the thunder on monday|nba OKC - monday winner
Did anybody beat the Cavs yesterday?|nba CLE - yesterday winner
who took the win, pistons or bulls|nba DET CHI - winner
which team won, Nets or Hawks, last night|nba BKN ATL yesterday winner
won the lakers yesterday?|nba LAL - yesterday winner
the lakers won?|nba LAL - - winner
lakers have won yesterday?|nba LAL - yesterday winner
how finished the game lakers celtics|nba LAL BOS - score
how ended the match of the bulls|nba CHI - - score
score of match between Dallas and Houston in nba|nba DAL HOU - score
please tell result knicks|nba NYK - - score
What's the score, Heat vs Hawks?|nba MIA ATL - score
heat hawks who's ahead|nba MIA ATL - score
who is leading, suns or kings|nba PHX SAC - score
are the warriors ahead|nba GSW - - score
how close is the lakers game|nba LAL - - score
is the knicks game close|nba NYK - - score
how's the nuggets game|nba DEN - - score
hows it going for the wolves tonight|nba MIN - tonight score
did the thunder crush the jazz yesterday|nba OKC UTA yesterday winner
did boston get smoked last night by the knicks|nba BOS NYK yesterday winner
did OKC choke again last night|nba OKC - yesterday winner
how did the Lakers game end|nba LAL - - score
how did the lakers vs suns game turn out|nba LAL PHX - score
who leads the eastern conference|nba - - - standings
who is first in the west|nba - - - standings
are the thunder top of the west|nba OKC - - standings
which team has the best record in the nba|nba - - - standings
nba western conference standings|nba - - - standings
what seed are the lakers|nba LAL - - standings
how are the celtics ranked|nba BOS - - standings
what's the celtics record this season|nba BOS - - standings
who is bottom of the premier league|epl - - - standings
who's top of the bundesliga|bundesliga - - - standings
nfl standings|nfl - - - standings
afc north standings|nfl - - - standings
Cowboys game on today?|nfl DAL - today schedule
did the lions win on thanksgiving|nfl DET - - winner
who do the ravens play sunday|nfl BAL - sunday schedule
who won sunday night football|nfl - - sunday winner
what's the score in the packers bears game|nfl GB CHI - score
rams seahawks final|nfl LAR SEA - score
is the bruins game on tonight|nhl BOS - tonight schedule
did edmonton oilers win last night|nhl EDM - yesterday winner
habs score last night|nhl MTL - yesterday score
blue jays result yesterday|mlb TOR - yesterday score
man utd score|epl MAN - - score
when is el clasico real madrid barcelona|laliga RMA BAR - schedule
did inter milan win at the weekend|seriea INT - weekend winner
psg score tonight|ligue1 PSG - tonight score
tottenham vs arsenal what was the result|epl TOT ARS - score
¿Quién va ganando, Lakers o Warriors?|nba LAL GSW - score
cómo van los Heat|nba MIA - - score
cuanto quedaron los lakers ayer|nba LAL - yesterday score
¿Juegan hoy los Bulls?|nba CHI - today schedule
qué partidos hay hoy en la nba|nba - - today schedule
quién juega esta noche en la nba|nba - - tonight schedule
perdieron los knicks anoche?|nba NYK - yesterday winner
próximo partido de los Spurs|nba SAS - - schedule
me puedes decir el resultado de los Nuggets de ayer por favor|nba DEN - yesterday score
CÓMO QUEDARON LOS LAKERS|nba LAL - - score
Wer hat Lakers gegen Celtics gewonnen?|nba LAL BOS - winner
Wie haben die Bucks gestern Abend gespielt|nba MIL - yesterday score
Spielen heute die Celtics?|nba BOS - today schedule
Wann ist das nächste Spiel der Lakers|nba LAL - - schedule
nächstes spiel warriors|nba GSW - - schedule
haben die knicks verloren|nba NYK - - winner
wer spielt heute nacht in der nba|nba - - tonight schedule
wer führt in der western conference|nba - - - standings
qui a gagné entre Lakers et Suns|nba LAL PHX - winner
les Bulls jouent quand|nba CHI - - schedule
les Knicks jouent contre qui ce soir|nba NYK - tonight schedule
comment s'est terminé le match des Lakers|nba LAL - - score
prochain match des Celtics|nba BOS - - schedule
t'as le score des Heat d'hier ?|nba MIA - yesterday score
les Warriors ont perdu hier ?|nba GSW - yesterday winner
quels matchs nba ce soir|nba - - tonight schedule
com'è finita la partita dei Lakers ieri|nba LAL - yesterday score
quando giocano i Bulls|nba CHI - - schedule
como foi o jogo dos Celtics ontem|nba BOS - yesterday score
quando jogam os Lakers|nba LAL - - schedule
今日のレイカーズの試合は何時?|nba LAL - today schedule
昨日のセルティックス戦のスコアを教えて|nba BOS - yesterday score
матч Лейкерс Уорриорз счёт|nba LAL GSW - score
кто играет сегодня в НБА|nba - - today schedule
勇士昨天的比分|nba GSW - yesterday score
湖人今天有比赛吗|nba LAL - today schedule
how the lakers doing|nba LAL - - score
score of todays celtics game|nba BOS - today score
has the bulls game ended? who won?|nba CHI - - winner
sorry to bother, did the blazers win?|nba POR - - winner
i fell asleep, who won the suns game last night?|nba PHX - yesterday winner
what did i miss in the nba last night|nba - - yesterday score
recap of last nights nba games|nba - - yesterday score
who came out on top, heat or knicks|nba MIA NYK - winner
any word on the clippers score|nba LAC - - score
bucks by how many?|nba MIL - - margin
by how much did boston lose|nba BOS - - margin
point difference lakers celtics last night|nba LAL BOS yesterday margin
mit wie vielen punkten haben die lakers gewonnen|nba LAL - - margin
por cuantos puntos ganaron los lakers|nba LAL - - margin
de combien de points les lakers ont gagné|nba LAL - - margin
lakers most recent result|nba LAL - - score
suns halftime score|nba PHX - - halftime
who was winning at halftime in the suns game|nba PHX - - halftime
halbzeitstand lakers|nba LAL - - halftime
marcador al descanso de los lakers|nba LAL - - halftime
score à la mi-temps des lakers|nba LAL - - halftime
is it halftime in the suns game|nba PHX - - score
what quarter is it in the bulls game|nba CHI - - score
ist das spiel der bulls schon vorbei|nba CHI - - score
has the spurs game started yet|nba SAS - - score
Is the Lakers game still going?|nba LAL - - score
did the twolves beat the dubs on saturday|nba MIN GSW saturday winner
which games are on in the nba on monday|nba - - monday schedule
next monday nba games|nba - - next monday schedule
nba games next week|nba - - next week schedule
who plays who in the nba tonight|nba - - tonight schedule
what's the score in Denver? nuggets game|nba DEN - - score
what are the current nba standings|nba - - - standings
east standings nba|nba - - - standings
how many wins do the lakers have|nba LAL - - standings
is okc still first in the west|nba OKC - - standings
Rockets record|nba HOU - - standings
dallas mavericks vs. san antonio spurs yesterday's result|nba DAL SAS yesterday score
Did New York Knicks won the game against Boston Celtics yesterday?|nba NYK BOS yesterday winner
Which was the result of Orlando yesterday in NBA?|nba ORL - yesterday score
i would like to know the score of game Atlanta Hawks|nba ATL - - score
Could you inform me about the result of the Raptors match?|nba TOR - - score
when play the Lakers?|nba LAL - - schedule
when have the Lakers their next game|nba LAL - - schedule
at which hour plays the Heat today|nba MIA - today schedule
celtics game what time|nba BOS - - schedule
Lakers game start time?|nba LAL - - schedule
vikings score today|nfl MIN - today score
did the patriots lose|nfl NE - - winner
titans texans final score|nfl TEN HOU - score
monday night football score|nfl - - monday score
nhl standings|nhl - - - standings
did barca win|laliga BAR - - winner
everton next match|epl EVE - - schedule
juventus score yesterday|seriea JUV - yesterday score
quien gano anoche en la nba|nba - - yesterday winner
ganaron los spurs?|nba SAS - - winner
contra quien juegan los lakers hoy|nba LAL - today schedule
a que hora es el partido de los celtics|nba BOS - - schedule
wie haben die lakers gespielt|nba LAL - - score
haben die raptors heute gewonnen|nba TOR - today winner
lakers ergebnis gestern|nba LAL - yesterday score
gegen wen spielt Golden State morgen|nba GSW - tomorrow schedule
les lakers ont-ils perdu hier soir|nba LAL - yesterday winner
score du match lakers warriors hier|nba LAL GSW yesterday score
quel est le résultat des Knicks d'hier|nba NYK - yesterday score
à quelle heure est le match des Celtics demain|nba BOS - tomorrow schedule
ニックスの昨日の結果は?|nba NYK - yesterday score
明日のNBAの試合は?|nba - - tomorrow schedule
湖人比赛比分|nba LAL - - score
как сыграли вчера Чикаго Буллз|nba CHI - yesterday score
кто лидирует в матче Лейкерс|nba LAL - - score
"""
"""Text | league team opponent date metric, ``-`` for null."""

TRAPS = """
score a deal
2pac albums
credit score
who has the most championships
heat wave
magic tricks
heat wave today
who won the war
what is the price of freedom
golden state killer
chelsea boots
is chelsea boots fashionable
liverpool weather
weather in barcelona
who won the 2014 world cup
rules of basketball
history of the lakers
film score composers
who scored the soundtrack for Inception
what is the score of a film called
how do I improve my credit score
jazz concert tonight
bulls and bears
are the bulls or bears winning in the market
who won the election
who won the lottery last night
who is winning the election
kings of leon tickets
denver nuggets recipe
chicken nuggets
lakers news today
did the lakers sign anyone today
who owns the lakers
lakers roster
why do the lakers wear purple
what does the thunder mean
will there be thunder tonight
how hot is it in phoenix suns
what is the nba
explain basketball
who won the nba in 2020
who won the oscars last night
who won the super bowl
boston vs miami
which is better boston or miami
distance boston chicago
flights from boston to denver tonight
lakers tickets tonight
what channel is the lakers game on
should i bet on the lakers
My SAT score
apgar score meaning
i play the guitar
dolphins vs sharks
lions vs tigers who would win
chess game
what games should i play tonight
who won the battle of waterloo
stars tonight
wild jets
is magic real
how does the heat pump work
what do saints do
did kings rule france
who beat cancer
when did the beatles play in new york
table of contents
what time is it in boston
what time does the store open today
play some jazz
play jazz tonight
does it rain in portland tonight
utah time
was ist die bundesliga
who will win the nba championship
eagles song lyrics
what is the record for most points in a game
how many points did lebron score last night
ninja warrior winner
is the sun hot
game of thrones score
the lakers store
what's the best magic card game
how did the raiders of the lost ark end
when do the stores open tomorrow
what is a good score on the bar
capital of utah
hello
thank you
bitcoin price
did rome win the war
weather in miami today
who discovered magic
how did the war end
are sharks dangerous
when do bears hibernate
do bears play
did pirates win
thunder and lightning tonight
should i watch the heat game
how do bulls play
jazz music history
denver boston flight tonight
what's the score on my exam
the office season finale winner
did the suns rays hurt
who won the cold war
who won american idol last night
what time do the clubs close in miami
los angeles lakers founded
how tall is the lakers center
what team does lebron play for
is utah a state
toronto time
is there a game plan
the score by howard shore
lakers
celtics history
can bears beat lions
how do I beat the heat today
beat the heat
rocket launch today
magic the gathering tournament results
what are the odds the lakers win
will the lakers win tonight
who will win lakers or celtics
is it going to rain in boston tonight
jazz festival schedule
what's on tonight
houston rockets jersey price
chess world cup results
stock market results today
exam results
blood test results
lottery results
lottery results last night
search results
the nuggets of wisdom
who won the presidential debate last night
did trump win
did france win the war
win a prize
how to win friends
who wins in hamlet
play warriors of light
what is a warrior
did the miami weather get better
convert 5 miles to km
who plays batman in the new movie
who played the king last night
what time is the concert tonight
what time does the show start tonight
match the following
what matches with blue pants
dragon ball z scores
music score for piano
standing ovation
what is the table of elements
the kings of england
hornets nest removal
raptors in jurassic park
what do eagles eat
did eagles hunt today
grizzlies in alaska
spurs of the moment
was the battle won
election results boston
boston marathon results
who won the boston marathon yesterday
chelsea clinton news
barcelona vs madrid cost of living
is barcelona playing music tonight
dallas cowboys cheerleaders
how long is an nba game
how many games are there in the nba
who won the slam dunk contest
who won the world cup
nba draft results
is lebron playing tonight
we lost the game yesterday and everybody was sad
I watched the Knicks game last night
Lakers won yesterday, what a night
My favourite team is the Golden State Warriors.
how did the NBA start
when was the NBA founded
who founded the nba
who invented basketball
history of the Boston Celtics
how many championships do the lakers have
how many titles have the Celtics won
who has scored the most points in nba history
Who won the NBA finals in 1998?
who won the super bowl in 2010
who is the greatest nba player of all time
how much does LeBron James earn
what is the average nba salary
nba salary cap explained
how tall is Victor Wembanyama
how many players are on a basketball team
how many quarters are there in basketball
how long is halftime in the nba
who performed at the super bowl halftime show
what does margin of victory mean
by what margin did trump win
what is the shot clock rule
explain the offside rule
what does the nba play-in tournament mean
how does the nba draft work
how do nfl playoffs work
how is a passer rating calculated
where can I buy Lakers tickets
how much are tickets for the Knicks game tonight
lakers tickets tonight price
where can i watch the lakers game tonight
what channel is the nba on
who should I bet on tonight, Lakers or Suns
what are the odds for the lakers game
best bets nba tonight
predict the score of the lakers game tomorrow
will the lakers win the championship
who will win the lakers game tonight
how do I score a deal on flights
how to score a good apartment
what's a good credit score
what is a good score on the SAT
my credit score dropped, why
what is the f1 score in machine learning
how to compute the BLEU score
what's the weather in Miami tonight
is it cold in Denver tomorrow
heat warning in phoenix today
how do heat pumps work
what magic tricks can I do tonight
best jazz bars in new orleans tonight
jazz concerts tonight
who wrote the jazz age stories
thunder tonight?
how far are the rockets going
next spacex rockets launch
when do the kings of Spain visit
kings and queens of england
who was the king of spain in 1850
how do hawks hunt
what do wolves eat
how do grizzlies hibernate
are bulls colour blind
what's the time in Boston
population of Chicago
flights from boston to miami tomorrow
chicago vs new york pizza
stock market bulls vs bears
is it a bull market today
bitcoin price today
did apple win the lawsuit
who won the election yesterday
who won the oscar for best picture
who won world war 2
did Trump win in Miami yesterday
what game should I play tonight
what video games come out this week
when does the game of thrones prequel start
nuggets recipe
how do i cook chicken nuggets
what is the score of the movie Inception
who composed the score of Star Wars
WHAT WAS OUR DECISION ABOUT HOSTING
WHAT WAS THE RESULT OF THE VOTE
HOW IS THE WEATHER IN PHILADELPHIA
what was the result of the vote on proposal 12
show me the results of the survey
how do I join a basketball league
where is the next olympics
who coaches the lakers
who owns the Mavericks
who is the captain of Arsenal
how do I become an nba referee
why did the Lakers trade Westbrook
write a poem about the lakers
tell me a joke about the Knicks
when does the nba season start
when is the nba draft
how many games are in an nba season
when is the trade deadline
my daughter plays tonight at school
wie wird man NBA Spieler
wer hat die NBA gegründet
cuánto gana LeBron James
cuántos anillos tienen los lakers
quién inventó el baloncesto
comment acheter des billets pour le match des Lakers
combien gagne un joueur de nba
湖人是什么时候成立的
I think the Warriors will win tonight.
Our team won the match yesterday.
My son plays for a club called the Wizards.
The heat yesterday was terrible.
I bought tickets for the Bulls.
who has won the most nba titles
who won the most championships in nfl
who was the mvp last year
who won mvp
how many points did Kobe score in his career
who is the leading scorer in the nba
who leads the nba in assists
how many rebounds did Jokic have last night
did LeBron play yesterday
what is LeBron's net worth
how old is Steph Curry
when did Michael Jordan retire
when were the Lakers founded
when did the Sonics move to Oklahoma
when was the first nba game played
why is the nba so popular
what does nba stand for
how do you play basketball
how many minutes in a basketball game
how many innings in baseball
what are the rules of hockey
is basketball an olympic sport
how to get better at basketball
what's a triple double
best basketball shoes 2026
nba 2k26 price
nba league pass cost
what time is it in Phoenix
weather in Chicago tonight
will it rain in Portland tomorrow
is there fog in san antonio
hotels in Orlando
magic kingdom opening hours
what to do in Miami tonight
who is playing in Boston tonight
concert in brooklyn tonight
who plays the king in the lion king
when does the magic show start
kings of leon new album
bucks fizz recipe
how many bucks is 10 euros
bull market today
how are the bears doing in the stock market
rockets launched yesterday by spacex
what is the speed of a rocket
nets for fishing
how to build wizards in dnd
which dinosaur was the velociraptor
are grizzlies dangerous
why do hornets sting
hawks vs eagles which is bigger
what is a pacer test
who discovered thunder
the spurs on a boot are called what
jazz standards list
celtic music history
who won the game show yesterday
how do I win at chess
what is the score of the exam
what was the result of the experiment
result of 5 times 7
what is the next step of the plan
when is the next meeting
what happened in the last vote
who voted last night
WHO WAS THE FIRST PRESIDENT
WHAT IS MIN IN MATH
HOW MANY DAYS IN MARCH
DET ER EN FIN DAG
WAS IST DAS BESTE RESTAURANT IN BERLIN
was kostet ein ticket für die lakers
wer ist der beste spieler der nba
wie alt ist LeBron James
quién es el mejor jugador de la nba
dónde juegan los Lakers
où jouent les Lakers
qui est le meilleur joueur de la nba
レイカーズの歴史を教えて
почему Лейкерс так популярны
the lakers are upset about the call
why are fans upset with the lakers
who is the best team in the nba
best nba team ever
who is the tallest player in nba
how do I get nba tickets
what is a fan base
is Lakers merchandise expensive
what does OKC stand for
who sings the song thunder
play thunder by imagine dragons
what magic does gandalf use
do kings have power today
kings cross station
miami nightlife
best time to visit denver
what's on in chicago tonight
who is visiting boston next week
what does it mean to win by a landslide
is it possible to win at roulette
top of the morning
who is on top of the charts
which country is first in gdp
who leads the democratic party
who leads the polls
who is leading in the election
where are the lakers from
where do the bulls play
where is the bulls arena
how did the civil war start
how did the lakers start
when does school start tomorrow
when does the game start on ps5
how many games did I win on my xbox
who won the bake off last night
did we win the contract yesterday
did I win the lottery
my fantasy team score
is steph curry hurt
kids basketball camp near me
write python code for nba scores
are the knicks worth watching
what happened to the sonics
Just watched the Lakers game, unreal.
Knicks fans are the loudest.
my friend knows who won the lakers game
I wonder about the lakers sometimes
"""


def _rows() -> list[tuple[str, Asked]]:
    rows = []
    for line in QUESTIONS.strip().splitlines():
        text, _, slots = line.rpartition("|")
        league, team, opponent, rest = slots.split(" ", 3)
        said, metric = rest.rsplit(" ", 1)
        one, two, three, four = (None if value == "-" else value for value in (league, team, opponent, said))
        rows.append((text, Asked(one, two, three, four, metric)))
    return rows


@pytest.mark.parametrize(
    ("text", "asked"), _rows(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_questions_and_their_slots(text: str, asked: Asked) -> None:
    found = read_question(text, NOW)
    assert found is not None
    assert found.asked == asked
    assert found.strength >= CLAIM


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        ("lakers score on 05/06", "date"),
        ("LAKERS SCORE ON 05/06", "date"),
        ("lakers score on 5/6/2026", "date"),
        ("lakers score 5.6.", "date"),
        ("did the lakers win on may 32", "date"),
        ("did the lakers win on the 32nd of may", "date"),
        ("lakers score yesterday and today", "date"),
        ("did the lakers win game 7", "date"),
        ("lakers last 5 games", "count"),
        ("last five lakers results", "count"),
        ("did the lakers beat the celtics and the warriors beat the jazz", "game"),
        ("lakers and celtics score and arsenal chelsea score", "game"),
        ("did the lakers win and did the celtics win", "game"),
        ("score of lakers and score of the celtics", "game"),
        ("nba and nfl scores", "game"),
        ("76ers score", ""),
        ("did the 49ers win yesterday", ""),
        ("f1 results", ""),
        ("did the lakers win on 2026-05-06", ""),
        ("when do the lakers play at 7:30 tonight", ""),
        ("when do the lakers play at 7pm", ""),
        ("lakers beat celtics 110-100?", ""),
        ("did the lakers and celtics win", ""),
        ("lakers vs celtics in boston", ""),
        ("lakers vs celtics result, warriors fan here", ""),
        ("lakers last 5 days", ""),
    ],
)
def test_what_could_not_be_read_of_a_question_is_never_dropped(text: str, lacking: str) -> None:
    found = read_question(text, NOW)
    assert found is not None
    assert found.lacking == lacking
    assert not lacking or (found.strength < 0.9 and found.asked.date is None)


def test_a_misspelt_lose_is_read() -> None:
    for text in ("did the bulls loose yesterday", "bulls loose yesterday?"):
        found = read_question(text, NOW)
        assert found is not None
        assert (found.asked.team, found.asked.metric) == ("CHI", "winner")
    assert read_question("where do the bulls keep their loose change", NOW) is None


def test_a_question_that_lacks_its_day_goes_on_only_with_one() -> None:
    assert follow_up("and the celtics?", "lakers score on 05/06", NOW) is None
    assert follow_up("yesterday", "lakers score on 05/06", NOW) is not None


def test_capitals_change_nothing() -> None:
    """But for codes that are words otherwise."""
    for text, asked in _rows():
        if text.isascii() and not any(word in text for word in ("LAL @ DEN", "WAS @", " LA ")):
            for typed in (text.upper(), text.title()):
                found = read_question(typed, NOW)
                assert found is not None, typed
                assert found.asked == asked, typed
    for text in TRAPS.strip().splitlines():
        found = read_question(text.upper(), NOW)
        assert found is None or found.strength < CLAIM, text.upper()


@pytest.mark.parametrize("text", TRAPS.strip().splitlines())
def test_traps_are_not_claimed(text: str) -> None:
    found = read_question(text, NOW)
    assert found is None or found.strength < CLAIM


@pytest.mark.parametrize(
    "text",
    [
        "the lakers won last night",
        "My dad took me to the Lakers game yesterday",
        "the celtics beat the heat yesterday",
        "i watched the warriors game and it was fun",
        "lakers are playing tonight",
    ],
)
def test_what_is_told_is_never_certain(text: str) -> None:
    found = read_question(text, NOW)
    assert found is None or found.strength < CERTAIN


@pytest.mark.parametrize(
    "text", ["Lakers score", "nba scores today", "did the lakers win?", "lakers vs celtics", "LAL vs BOS"]
)
def test_whole_questions_are_certain(text: str) -> None:
    found = read_question(text, NOW)
    assert found is not None
    assert found.strength >= CERTAIN


def test_why_it_happened_gets_the_result_as_context() -> None:
    found = read_question("why did the lakers lose last night", NOW)
    assert found is not None
    assert 0 < found.strength < CLAIM


def test_a_hint_needs_a_name_and_keeps_the_traps() -> None:
    found = read_question("thoughts on how those lakers fared", NOW, hinted=True)
    assert found is not None
    assert found.asked.team == "LAL"
    assert found.strength >= CLAIM
    assert read_question("how do i improve my credit score", NOW, hinted=True) is None
    assert read_question("tell me something", NOW, hinted=True) is None


# --- follow-ups -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("earlier", "fragment", "asked"),
    [
        (
            "did the lakers win last night",
            "and the celtics?",
            Asked("nba", "BOS", None, "yesterday", "winner"),
        ),
        ("lakers vs celtics score", "What about the Knicks", Asked("nba", "NYK", None, None, "score")),
        ("nba scores today", "and tomorrow?", Asked("nba", None, None, "tomorrow", "score")),
        ("nba scores today", "y ayer?", Asked("nba", None, None, "yesterday", "score")),
        ("nba scores today", "and the NFL?", Asked("nfl", None, None, "today", "score")),
        ("lakers score yesterday", "against the heat?", Asked("nba", "LAL", "MIA", "yesterday", "score")),
        (
            "did the lakers win last night",
            "what was the score?",
            Asked("nba", "LAL", None, "yesterday", "score"),
        ),
        ("lakers score", "who won?", Asked("nba", "LAL", None, None, "winner")),
        (
            "did the lakers win last night",
            "when do they play next?",
            Asked("nba", "LAL", None, None, "schedule"),
        ),
        ("who won the game last night", "the lakers", Asked("nba", "LAL", None, "yesterday", "winner")),
        ("kings score in the nhl", "and the rangers?", Asked("nhl", "NYR", None, None, "score")),
        ("hat bayern gestern gewonnen", "und koeln?", None),
        ("hat bayern gestern gewonnen", "und bvb?", Asked("bundesliga", "DOR", None, "yesterday", "winner")),
        ("nba scores today", "why?", None),
        ("nba scores today", "and in euros?", None),
        ("nba scores today", "tell me a joke about it", None),
        ("nba scores today", "and", None),
        ("nba scores today", "and the weather?", None),
        ("who wrote Hamlet?", "and the celtics?", None),
        ("nba scores today", "x" * 3_000, None),
    ],
)
def test_follow_ups_fill_one_slot(earlier: str, fragment: str, asked: Asked | None) -> None:
    said = follow_up(fragment, earlier, NOW)
    if asked is None:
        assert said is None
        return
    assert said is not None
    found = read_question(said, NOW)
    assert found is not None
    assert found.asked == asked
    assert found.strength >= CERTAIN


_TIMES = st.sampled_from(
    (None, "today", "tonight", "now", "tomorrow", "yesterday", "friday", "last friday", "next sunday",
     "weekend", "this week", "today-3d", "today+5d", "2026-11-21", "last week")
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(TEAMS)), st.data())
def test_phrases_are_read_back_to_the_same_slots(one: tuple[str, str], data: st.DataObject) -> None:
    league, team = one
    rivals = sorted(code for of, code in TEAMS if of == league and code != team)
    opponent = data.draw(st.one_of(st.none(), st.sampled_from(rivals))) if rivals else None
    asked = Asked(league, team, opponent, data.draw(_TIMES), data.draw(st.sampled_from(METRICS)))
    said = phrase(asked, NOW)
    assert said is not None
    found = read_question(said, NOW)
    assert found is not None, said
    assert found.asked == asked, said
    assert found.strength >= CERTAIN, said
    assert asked_of(asked.slots()) == asked


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(sorted(LEAGUES)), _TIMES, st.sampled_from(METRICS))
def test_phrases_of_whole_leagues_are_read_back(league: str, said: str | None, metric: str) -> None:
    asked = Asked(league, None, None, said, metric)
    text = phrase(asked, NOW)
    assert text is not None
    found = read_question(text, NOW)
    assert found is not None, text
    assert found.asked == asked, text
    assert found.strength >= CERTAIN


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(QUESTIONS.replace("|", " ").split()[:400]), max_size=12))
def test_reading_is_total_and_pure(words: list[str]) -> None:
    text = " ".join(words)
    assert read_question(text, NOW) == read_question(text, NOW)
    assert follow_up(text, "nba scores today", NOW) == follow_up(text, "nba scores today", NOW)


# --- tables and days ------------------------------------------------------------------------------


def test_the_tables_are_whole() -> None:
    sizes = {league: sum(of == league for of, _ in TEAMS) for league in ("nba", "nfl", "mlb", "nhl")}
    assert sizes == {"nba": 30, "nfl": 32, "mlb": 30, "nhl": 32}
    for feed, code in (
        ("GS", "GSW"),
        ("NY", "NYK"),
        ("SA", "SAS"),
        ("NO", "NOP"),
        ("UTAH", "UTA"),
        ("WSH", "WAS"),
    ):
        team = from_feed("nba", feed)
        assert team is not None
        assert team.code == code
        assert from_feed("nba", code) == team
    for (league, code), team in TEAMS.items():
        assert team_of(league, code) == team
        assert team.code == code
        full = tuple(team.full.lower().replace("-", " ").replace("& ", "").replace("é", "e").split())
        assert team in NAMES[full].teams


def test_days_of_the_small_hours() -> None:
    assert eastern_day(datetime(2026, 11, 22, 3, 0, tzinfo=UTC)) == date(2026, 11, 21)
    assert eastern_day(datetime(2026, 11, 22, 7, 59, tzinfo=UTC)) == date(2026, 11, 21)
    assert eastern_day(datetime(2026, 11, 22, 8, 0, tzinfo=UTC)) == date(2026, 11, 22)
    assert eastern_day(datetime(2026, 5, 22, 7, 0, tzinfo=UTC)) == date(2026, 5, 22), "summer time"
    tokyo = datetime(2026, 11, 22, 12, 0, tzinfo=timezone(timedelta(hours=9)))
    assert eastern_day(tokyo) == date(2026, 11, 21)


def test_keys_hold_days_and_never_words() -> None:
    asked = Asked("nba", "LAL", "BOS", "yesterday", "score")
    assert key_of(asked, NOW) == "score:nba:LAL:BOS:2026-05-17:score"
    assert key_of(Asked("nba", "LAL", None, None, "schedule"), NOW) == "score:nba:LAL::2026-05-18..:schedule"
    assert key_of(Asked("nba", "LAL", None, None, "score"), NOW) == "score:nba:LAL::..2026-05-18:score"
    assert key_of(Asked("nba", None, None, "weekend", "score"), NOW) == (
        "score:nba:::2026-05-16..2026-05-17:score"
    )
    assert key_of(Asked(None, None, None, "today", "score"), NOW) is None
    assert days_of(Asked("nba", None, None, "no such time", "score"), NOW) is None
    assert time_words.resolve("yesterday", NOW.date()) is not None


@pytest.mark.parametrize(
    "slots",
    [
        {},
        {"league": 7, "metric": "score"},
        {"league": "no such", "metric": "score"},
        {"league": "nba", "team": "XXX", "metric": "score"},
        {"league": "nba", "team": "../x", "metric": "score"},
        {"league": None, "team": "LAL", "metric": "score"},
        {"league": "nba", "team": None, "opponent": "LAL", "metric": "score"},
        {"league": "nba", "team": "LAL", "opponent": "LAL", "metric": "score"},
        {"league": "nba", "metric": "price"},
    ],
    ids=str,
)
def test_foreign_slots_are_refused(slots: dict[str, object]) -> None:
    assert asked_of(slots) is None  # type: ignore[arg-type] # wrong types are the point
