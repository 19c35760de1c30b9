"""Leagues and teams as people, the official lists and the feeds write them. Pure data and look-ups.

Rules of this file:
- The NBA's official three-letter codes are canonical; the feed's own codes (GS, NY, SA, NO, UTAH, WSH) are
  mapped to them on the way in. For other leagues the feed's usual abbreviation is the code.
- A name has one of four classes, by how much it says on its own: ``name`` (lakers, real madrid) is always a
  team, ``nick`` (heat, magic) is an ordinary word too, ``city`` (boston) is a place first, ``code`` (lal)
  is an abbreviation. What each needs beside it is for ``questions`` to say.
- A name that several teams bear (rangers, cardinals) lists all of them; ``season`` orders the leagues by
  who plays in a month.
- Folded words throughout: lower case, no accents, as ``node.language.reading`` gives them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from node.language.reading import word_list


@dataclass(frozen=True, slots=True)
class League:
    """``path`` is the feed's, None for one that is recognised but not served. ``sport``: basketball, football
    (American), baseball, hockey, soccer, other. ``label`` for people."""

    id: str
    path: str | None
    sport: str
    label: str


_LEAGUES = """
nba        | basketball/nba             | basketball | NBA              | nba; national basketball association
wnba       | basketball/wnba            | basketball | WNBA             | wnba
nfl        | football/nfl               | football   | NFL              | nfl; american football
mlb | baseball/mlb | baseball | MLB | mlb; major league baseball; baseball; beisbol
nhl        | hockey/nhl                 | hockey     | NHL              | nhl; ice hockey; hockey; eishockey
mls        | soccer/usa.1               | soccer     | MLS              | mls; major league soccer
epl | soccer/eng.1 | soccer | Premier League | epl; premier league; english premier league
laliga     | soccer/esp.1               | soccer     | La Liga          | la liga; laliga; liga espanola
bundesliga | soccer/ger.1               | soccer     | Bundesliga       | bundesliga
seriea     | soccer/ita.1               | soccer     | Serie A          | serie a
ligue1     | soccer/fra.1               | soccer     | Ligue 1          | ligue 1; ligue un
eredivisie | soccer/ned.1               | soccer     | Eredivisie       | eredivisie
primeira   | soccer/por.1               | soccer     | Primeira Liga    | primeira liga; liga portugal
brasileirao | soccer/bra.1              | soccer     | Brasileirão      | brasileirao
argentina  | soccer/arg.1               | soccer     | Liga Profesional | liga profesional
ligamx     | soccer/mex.1               | soccer     | Liga MX          | liga mx
scotland   | soccer/sco.1               | soccer     | Scottish Premiership | scottish premiership
ucl | soccer/uefa.champions | soccer | Champions League | champions league; uefa champions league; ucl
uel        | soccer/uefa.europa         | soccer     | Europa League    | europa league; uefa europa league
worldcup | soccer/fifa.world | soccer | World Cup | world cup; fifa world cup; mundial; coupe du monde; wm
euro       | soccer/uefa.euro           | soccer     | European Championship | european championship
copaamerica | soccer/conmebol.america   | soccer     | Copa América     | copa america
ncaaf | football/college-football | football | college football | ncaaf; college football; ncaa football
ncaam | basketball/mens-college-basketball | basketball | men's college basketball | ncaam
ncaa       |                            | other      | NCAA             | ncaa
ufc        |                            | other      | UFC              | ufc
f1         |                            | other      | Formula 1        | f1; formula 1; formula one
motogp     |                            | other      | MotoGP           | motogp
nascar     |                            | other      | NASCAR           | nascar
cricket    |                            | other      | cricket          | cricket; ipl
tennis     |                            | other      | tennis           | tennis; wimbledon; roland garros
rugby      |                            | other      | rugby            | rugby
euroleague |                            | other      | EuroLeague       | euroleague; euro league
"""

ENDS: Final[Mapping[str, str]] = {
    "nba finals": "nba",
    "super bowl": "nfl",
    "superbowl": "nfl",
    "world series": "mlb",
    "stanley cup": "nhl",
}
"""Deciding games stand for their league."""

_ALSO: Final[Mapping[str, str]] = {
    "el clasico": "laliga",
    "liga de campeones": "ucl",
    "ligue des champions": "ucl",
    "college basketball": "ncaam",
    "ncaa basketball": "ncaam",
}

CONFERENCES: Final[Mapping[str, str]] = {
    "eastern conference": "nba",
    "western conference": "nba",
    "conferencia este": "nba",
    "conferencia oeste": "nba",
    "conference est": "nba",
    "conference ouest": "nba",
    "afc": "nfl",
    "nfc": "nfl",
}
"""Halves of a league stand for it; the NHL and others have an Eastern one too, and are then named."""

SPORT_WORDS: Final[Mapping[str, str]] = {
    "basketball": "nba",
    "baloncesto": "nba",
    "basquetbol": "nba",
    "basquete": "nba",
    "basket": "nba",
    "pallacanestro": "nba",
}
"""A sport alone stands for the league that people mean by it; football and soccer name none."""

UNNAMED_SPORTS: Final = frozenset(
    ("football", "soccer", "futbol", "fussball", "futebol", "calcio", "sport", "sports")
)


def _leagues() -> tuple[dict[str, League], dict[tuple[str, ...], str]]:
    by_id: dict[str, League] = {}
    words: dict[tuple[str, ...], str] = {}
    for line in _LEAGUES.strip().splitlines():
        ident, path, sport, label, names = (part.strip() for part in line.split("|"))
        by_id[ident] = League(ident, path or None, sport, label)
        for name in names.split(";"):
            words[tuple(name.split())] = ident
    for name, league in (*ENDS.items(), *_ALSO.items(), *CONFERENCES.items(), *SPORT_WORDS.items()):
        words[tuple(name.split())] = league
    return by_id, words


LEAGUES, LEAGUE_WORDS = _leagues()
"""League by id, and id by the words that name it."""


@dataclass(frozen=True, slots=True)
class Team:
    """``code`` is canonical, ``feed`` the feed's; ``full`` and ``short`` are names for people."""

    league: str
    code: str
    feed: str
    full: str
    short: str

    @property
    def said(self) -> str:
        """How a sentence names it: "the Lakers", "Arsenal"; in full where teams share the nickname."""
        if LEAGUES[self.league].sport == "soccer":
            return self.short
        shared = len(NAMES[tuple(_fold(self.short).split())].teams) > 1
        return f"the {self.full if shared else self.short}"


# code | feed's code | city | nickname | class of the nickname | further names (always a team), by comma
_NBA = """
ATL | ATL  | Atlanta       | Hawks         | nick |
BOS | BOS  | Boston        | Celtics       | name |
BKN | BKN  | Brooklyn      | Nets          | nick |
CHA | CHA  | Charlotte     | Hornets       | name |
CHI | CHI  | Chicago       | Bulls         | nick |
CLE | CLE  | Cleveland     | Cavaliers     | name | cavs
DAL | DAL  | Dallas        | Mavericks     | name | mavs
DEN | DEN  | Denver        | Nuggets       | nick |
DET | DET  | Detroit       | Pistons       | nick |
GSW | GS   | Golden State  | Warriors      | name | dubs
HOU | HOU  | Houston       | Rockets       | nick |
IND | IND  | Indiana       | Pacers        | name |
LAL | LAL  | Los Angeles   | Lakers        | name | la lakers, laker
LAC | LAC  | Los Angeles   | Clippers      | name | la clippers
MEM | MEM  | Memphis       | Grizzlies     | name |
MIA | MIA  | Miami         | Heat          | nick |
MIL | MIL  | Milwaukee     | Bucks         | nick |
MIN | MIN  | Minnesota     | Timberwolves  | name | twolves, t-wolves
NOP | NO   | New Orleans   | Pelicans      | name | pels
NYK | NY   | New York      | Knicks        | name | ny knicks, knickerbockers
OKC | OKC  | Oklahoma City | Thunder       | nick | okc thunder
ORL | ORL  | Orlando       | Magic         | nick |
PHI | PHI  | Philadelphia  | 76ers         | name | sixers, seventy sixers, philly sixers
PHX | PHX  | Phoenix       | Suns          | nick |
POR | POR  | Portland      | Trail Blazers | name | trailblazers
SAC | SAC  | Sacramento    | Kings         | nick |
SAS | SA   | San Antonio   | Spurs         | name |
TOR | TOR  | Toronto       | Raptors       | name |
UTA | UTAH | Utah          | Jazz          | nick |
WAS | WSH  | Washington    | Wizards       | nick |
"""
_NBA_NICKS = {"POR": ("blazers",), "MIN": ("wolves",)}

_NFL = """
ARI | ARI | Arizona | Cardinals | nick |
ATL | ATL | Atlanta | Falcons | name |
BAL | BAL | Baltimore | Ravens | name |
BUF | BUF | Buffalo | Bills | nick |
CAR | CAR | Carolina | Panthers | name |
CHI | CHI | Chicago | Bears | nick |
CIN | CIN | Cincinnati | Bengals | name |
CLE | CLE | Cleveland | Browns | name |
DAL | DAL | Dallas | Cowboys | name |
DEN | DEN | Denver | Broncos | name |
DET | DET | Detroit | Lions | nick |
GB | GB | Green Bay | Packers | name |
HOU | HOU | Houston | Texans | name |
IND | IND | Indianapolis | Colts | name |
JAX | JAX | Jacksonville | Jaguars | name | jags
KC | KC | Kansas City | Chiefs | name |
LV | LV | Las Vegas | Raiders | name |
LAC | LAC | Los Angeles | Chargers | name | la chargers
LAR | LAR | Los Angeles | Rams | nick | la rams
MIA | MIA | Miami | Dolphins | nick |
MIN | MIN | Minnesota | Vikings | name |
NE | NE | New England | Patriots | name | pats
NO | NO | New Orleans | Saints | nick |
NYG | NYG | New York | Giants | nick | ny giants
NYJ | NYJ | New York | Jets | nick | ny jets
PHI | PHI | Philadelphia | Eagles | name |
PIT | PIT | Pittsburgh | Steelers | name |
SF | SF | San Francisco | 49ers | name | niners, forty niners
SEA | SEA | Seattle | Seahawks | name |
TB | TB | Tampa Bay | Buccaneers | name | bucs
TEN | TEN | Tennessee | Titans | name |
WAS | WSH | Washington | Commanders | name |
"""
_MLB = """
ARI | ARI | Arizona | Diamondbacks | name | dbacks, d-backs
ATH | ATH | Oakland | Athletics | nick | oakland as
ATL | ATL | Atlanta | Braves | name |
BAL | BAL | Baltimore | Orioles | name |
BOS | BOS | Boston | Red Sox | name |
CHC | CHC | Chicago | Cubs | name |
CHW | CHW | Chicago | White Sox | name |
CIN | CIN | Cincinnati | Reds | nick |
CLE | CLE | Cleveland | Guardians | nick |
COL | COL | Colorado | Rockies | nick |
DET | DET | Detroit | Tigers | nick |
HOU | HOU | Houston | Astros | name |
KC | KC | Kansas City | Royals | nick |
LAA | LAA | Los Angeles | Angels | nick | la angels, anaheim angels
LAD | LAD | Los Angeles | Dodgers | name | la dodgers
MIA | MIA | Miami | Marlins | name |
MIL | MIL | Milwaukee | Brewers | name |
MIN | MIN | Minnesota | Twins | nick |
NYM | NYM | New York | Mets | name | ny mets
NYY | NYY | New York | Yankees | name | ny yankees, yanks
PHI | PHI | Philadelphia | Phillies | name |
PIT | PIT | Pittsburgh | Pirates | nick |
SD | SD | San Diego | Padres | nick |
SF | SF | San Francisco | Giants | nick | sf giants
SEA | SEA | Seattle | Mariners | name |
STL | STL | St Louis | Cardinals | nick | saint louis cardinals
TB | TB | Tampa Bay | Rays | nick |
TEX | TEX | Texas | Rangers | nick |
TOR | TOR | Toronto | Blue Jays | name |
WSH | WSH | Washington | Nationals | nick |
"""
_NHL = """
ANA | ANA | Anaheim | Ducks | nick |
BOS | BOS | Boston | Bruins | name |
BUF | BUF | Buffalo | Sabres | name |
CGY | CGY | Calgary | Flames | nick |
CAR | CAR | Carolina | Hurricanes | nick |
CHI | CHI | Chicago | Blackhawks | name |
COL | COL | Colorado | Avalanche | nick |
CBJ | CBJ | Columbus | Blue Jackets | name |
DAL | DAL | Dallas | Stars | nick |
DET | DET | Detroit | Red Wings | name |
EDM | EDM | Edmonton | Oilers | name |
FLA | FLA | Florida | Panthers | nick |
LA | LA | Los Angeles | Kings | nick | la kings
MIN | MIN | Minnesota | Wild | nick |
MTL | MTL | Montreal | Canadiens | name | habs
NSH | NSH | Nashville | Predators | nick |
NJ | NJ | New Jersey | Devils | nick | nj devils
NYI | NYI | New York | Islanders | nick | ny islanders
NYR | NYR | New York | Rangers | nick | ny rangers
OTT | OTT | Ottawa | Senators | nick |
PHI | PHI | Philadelphia | Flyers | nick |
PIT | PIT | Pittsburgh | Penguins | nick |
SJ | SJ | San Jose | Sharks | nick |
SEA | SEA | Seattle | Kraken | nick |
STL | STL | St Louis | Blues | nick | saint louis blues
TB | TB | Tampa Bay | Lightning | nick |
TOR | TOR | Toronto | Maple Leafs | name | leafs
UTAH | UTAH | Utah | Mammoth | nick |
VAN | VAN | Vancouver | Canucks | name |
VGK | VGK | Vegas | Golden Knights | name |
WSH | WSH | Washington | Capitals | nick |
WPG | WPG | Winnipeg | Jets | nick |
"""
_WNBA = """
ATL | ATL | Atlanta | Dream | nick |
CHI | CHI | Chicago | Sky | nick |
CON | CONN | Connecticut | Sun | nick |
DAL | DAL | Dallas | Wings | nick |
GSV | GS | Golden State | Valkyries | nick |
IND | IND | Indiana | Fever | nick |
LVA | LV | Las Vegas | Aces | nick |
LAS | LA | Los Angeles | Sparks | nick | la sparks
MIN | MIN | Minnesota | Lynx | nick |
NYL | NY | New York | Liberty | nick | ny liberty
PHX | PHX | Phoenix | Mercury | nick |
SEA | SEA | Seattle | Storm | nick |
WAS | WSH | Washington | Mystics | name |
"""

# league | code | name as the feed and people write it | class of that name | further names (always a team)
_SOCCER = """
epl | ARS | Arsenal | name | gunners
epl | AVL | Aston Villa | name |
epl | CHE | Chelsea | name | chelsea fc
epl | EVE | Everton | name |
epl | LIV | Liverpool | city | liverpool fc
epl | MNC | Manchester City | name | man city
epl | MAN | Manchester United | name | man united, man utd, manchester utd
epl | NEW | Newcastle United | name | newcastle utd
epl | NFO | Nottingham Forest | name |
epl | TOT | Tottenham Hotspur | name | tottenham
epl | WHU | West Ham United | name | west ham
epl | CRY | Crystal Palace | name |
epl | BHA | Brighton & Hove Albion | name | brighton and hove albion, brighton
epl | WOL | Wolverhampton Wanderers | name | wolverhampton
epl | LEE | Leeds United | name |
epl | FUL | Fulham | name |
epl | LEI | Leicester City | name |
laliga | RMA | Real Madrid | name |
laliga | BAR | Barcelona | city | barca, fc barcelona, barcelona fc, fcb
laliga | ATM | Atlético Madrid | name | atleti, atletico de madrid
laliga | SEV | Sevilla | city | sevilla fc
laliga | VAL | Valencia | city | valencia cf
laliga | ATH | Athletic Club | nick | athletic bilbao
laliga | RSO | Real Sociedad | name |
bundesliga | MUN | Bayern Munich | name | bayern, fc bayern, bayern munchen, fc bayern munchen
bundesliga | DOR | Borussia Dortmund | name | bvb, dortmund
bundesliga | LEV | Bayer Leverkusen | name | leverkusen
bundesliga | RBL | RB Leipzig | name |
bundesliga | SGE | Eintracht Frankfurt | name |
bundesliga | SVW | Werder Bremen | name | werder
seriea | JUV | Juventus | name | juve
seriea | MIL | AC Milan | name |
seriea | INT | Internazionale | name | inter milan, inter mailand
seriea | ROMA | AS Roma | name |
seriea | NAP | Napoli | city | ssc napoli
seriea | LAZ | Lazio | name | ss lazio
ligue1 | PSG | Paris Saint-Germain | name | psg, paris saint germain, paris sg
ligue1 | MAR | Marseille | city | olympique marseille, olympique de marseille
ligue1 | LYON | Lyon | city | olympique lyonnais, olympique lyon
ligue1 | MON | AS Monaco | name |
eredivisie | AJA | Ajax Amsterdam | name | ajax
eredivisie | PSV | PSV Eindhoven | name | psv
primeira | BEN | Benfica | name | sl benfica
primeira | POR | FC Porto | name |
primeira | SCP | Sporting CP | name | sporting lisbon
brasileirao | FLA | Flamengo | name |
brasileirao | PAL | Palmeiras | name |
brasileirao | COR | Corinthians | name |
argentina | BOC | Boca Juniors | name |
argentina | RIV | River Plate | name |
scotland | CEL | Celtic | name | celtic fc
mls | MIA | Inter Miami CF | name | inter miami
mls | LA | LA Galaxy | name |
mls | LAFC | LAFC | name |
"""

_TABLES: Final[Mapping[str, str]] = {"nba": _NBA, "nfl": _NFL, "mlb": _MLB, "nhl": _NHL, "wnba": _WNBA}

_CITY_NAMES: Final[Mapping[str, str]] = {
    "okc": "Oklahoma City",
    "philly": "Philadelphia",
    "nyc": "New York",
    "la": "Los Angeles",
    "vegas": "Las Vegas",
    "kc": "Kansas City",
}
_NEVER_CITY: Final = frozenset((("la",),))
"""Also an article in three languages: part of full names only."""

_CLASS_ORDER: Final = ("name", "code", "nick", "city")


@dataclass(frozen=True, slots=True)
class Name:
    """What a run of words may name: a class, and the teams, the better known leagues first."""

    kind: str
    teams: tuple[Team, ...]


def _fold(text: str) -> str:
    table = str.maketrans("éáíóúãõçñü", "eaiouaocnu")
    return text.lower().translate(table).replace("& ", "").replace("-", " ")


def _build() -> tuple[dict[tuple[str, str], Team], dict[tuple[str, ...], Name]]:
    teams: dict[tuple[str, str], Team] = {}
    names: dict[tuple[str, ...], dict[Team, str]] = {}

    def add(words: str, team: Team, kind: str) -> None:
        key = tuple(_fold(words).split())
        rows = names.setdefault(key, {})
        if team not in rows or _CLASS_ORDER.index(kind) < _CLASS_ORDER.index(rows[team]):
            rows[team] = kind

    for league, table in _TABLES.items():
        for line in table.strip().splitlines():
            code, feed, city, nick, kind, more = (part.strip() for part in line.split("|"))
            team = Team(league, code, feed, f"{city} {nick}", nick)
            teams[league, code] = team
            add(nick, team, kind)
            add(f"{city} {nick}", team, "name")
            add(city, team, "city")
            for short, long in _CITY_NAMES.items():
                if long == city:
                    add(f"{short} {nick}", team, "name")
                    add(short, team, "city")
            for name in more.split(","):
                if name.strip():
                    add(name.strip(), team, "name")
            if league == "nba":
                add(code, team, "code")
    for code, nicks in _NBA_NICKS.items():
        for nick in nicks:
            add(nick, teams["nba", code], "nick")
    for line in _SOCCER.strip().splitlines():
        league, code, full, kind, more = (part.strip() for part in line.split("|"))
        team = Team(league, code, code, full, full)
        teams[league, code] = team
        add(full, team, kind)
        for name in more.split(","):
            if name.strip():
                add(name.strip(), team, "name")
    add("spurs", teams["epl", "TOT"], "nick")
    order = list(LEAGUES)
    index: dict[tuple[str, ...], Name] = {}
    for words, rows in names.items():
        if words in _NEVER_CITY:
            continue
        ranked = sorted(rows, key=lambda team: order.index(team.league))
        kinds = sorted((rows[team] for team in ranked), key=_CLASS_ORDER.index)
        # A name of the first league's team decides the class; one that is a word for anyone stays a word.
        index[words] = Name(rows[ranked[0]] if len(ranked) == 1 else _joint(kinds), tuple(ranked))
    # Beside the Warriors a team of another league plays there, but nobody calls a place so.
    index["golden", "state"] = Name("name", (teams["nba", "GSW"],))
    return teams, index


def _joint(kinds: list[str]) -> str:
    return "name" if "name" in kinds and "city" not in kinds else kinds[0] if len(set(kinds)) == 1 else "nick"


TEAMS, NAMES = _build()
"""Team by (league, code); what a run of folded words may name."""

LONGEST_NAME: Final = max(len(words) for words in NAMES)

UNSAFE_CODES: Final = frozenset(
    word_list("was den por min ind mil chi dal tor mia det sac cha hou phi atl cle mem orl uta nop phx")
)
"""NBA codes that are words, towns or other abbreviations in lower case."""

_FEED_NBA: Final[Mapping[str, Team]] = {
    **{team.feed: team for (league, _), team in TEAMS.items() if league == "nba"},
    **{code: team for (league, code), team in TEAMS.items() if league == "nba"},
    # Older spellings of the lists.
    "BRK": TEAMS["nba", "BKN"],
    "PHO": TEAMS["nba", "PHX"],
    "NOR": TEAMS["nba", "NOP"],
    "CHO": TEAMS["nba", "CHA"],
}


CUPS: Final = frozenset(("ucl", "uel"))
"""Played by clubs of several leagues: a club keeps its code there."""


def team_of(league: str | None, code: str | None) -> Team | None:
    """The team with that canonical code."""
    if league in CUPS:
        return next((team for (of, one), team in TEAMS.items() if one == code and is_club(of)), None)
    return TEAMS.get((league or "", code or ""))


def is_club(league: str) -> bool:
    """Whether the league's teams are soccer clubs."""
    return LEAGUES[league].sport == "soccer"


def from_feed(league: str, code: str) -> Team | None:
    """The known team behind a feed's abbreviation, in either code system."""
    if league == "nba":
        return _FEED_NBA.get(code)
    for (of, _), team in TEAMS.items():
        if of == league and code in (team.feed, team.code):
            return team
    return None


def season(month: int) -> tuple[str, ...]:
    """Leagues in the order in which a shared name is meant in that month: who plays, and the NBA before
    others."""
    if 4 <= month <= 9:
        first = ("nba", "mlb", "nfl", "nhl") if month >= 6 else ("nba", "mlb", "nhl", "nfl")
    else:
        first = ("nba", "nfl", "nhl", "mlb")
    return (*first, *(one for one in LEAGUES if one not in first))


# --- names in other scripts -----------------------------------------------------------------------

_SCRIPT_NAMES = """
ATL | ホークス 老鹰 老鷹 хокс
BOS | セルティックス 凯尔特人 塞爾提克 凱爾特人 селтикс
BKN | ネッツ 篮网 籃網 нетс
CHA | ホーネッツ 黄蜂 黃蜂 хорнетс
CHI | ブルズ 公牛 буллз
CLE | キャバリアーズ キャブス 骑士 騎士 кавальерс кавс
DAL | マーベリックス マブス 独行侠 獨行俠 маверикс
DEN | ナゲッツ 掘金 金塊 наггетс
DET | ピストンズ 活塞 пистонс
GSW | ウォリアーズ ウォーリアーズ 勇士 уорриорз уорриорс голден-стэйт
HOU | ロケッツ 火箭 рокетс
IND | ペイサーズ 步行者 溜馬 溜马 пэйсерс пейсерс
LAC | クリッパーズ 快船 快艇 клипперс
LAL | レイカーズ レーカーズ 湖人 лейкерс лэйкерс
MEM | グリズリーズ 灰熊 гриззлис
MIA | ヒート 热火 熱火 хит майами-хит
MIL | バックス 雄鹿 公鹿 бакс
MIN | ティンバーウルブズ ウルブズ 森林狼 灰狼 тимбервулвз миннесота
NOP | ペリカンズ 鹈鹕 鵜鶘 пеликанс
NYK | ニックス 尼克斯 никс
OKC | サンダー 雷霆 тандер
ORL | マジック 魔术 魔術 мэджик
PHI | シクサーズ セブンティシクサーズ 76人 сиксерс
PHX | サンズ 太阳 太陽 санз
POR | ブレイザーズ トレイルブレイザーズ 开拓者 開拓者 拓荒者 блейзерс
SAC | キングス 国王 國王 кингз
SAS | スパーズ 马刺 馬刺 спёрс сперс
TOR | ラプターズ 猛龙 猛龍 暴龍 рэпторс
UTA | ジャズ 爵士 джаз юта-джаз
WAS | ウィザーズ 奇才 巫师 巫師 уизардс
"""
_SCRIPT_WORDS = frozenset(
    word_list(
        "ヒート サンダー マジック キングス ジャズ 公牛 骑士 騎士 火箭 活塞 勇士 雷霆 国王 國王 魔术 魔術"
        " 太阳 太陽 爵士 奇才 巫师 巫師 马刺 馬刺 黄蜂 黃蜂 老鹰 老鷹 热火 熱火 掘金"
        " 灰熊 雄鹿 快船 快艇 开拓者 開拓者 灰狼"
        " хит бакс джаз никс хокс нетс санз миннесота ロケッツ ピストンズ サンズ バックス ニックス"
    )
)
"""Script names that are ordinary words too, or short enough to stand inside one."""

_SCRIPT_SOCCER = """
laliga RMA | レアル・マドリード レアルマドリード 皇家马德里 皇马 реал
laliga BAR | バルセロナ バルサ 巴塞罗那 巴萨 барселона барселоны барса
epl MNC | マンチェスター・シティ マンチェスターシティ 曼城
epl MAN | マンチェスター・ユナイテッド マンチェスターユナイテッド 曼联 манчестер-юнайтед
epl ARS | アーセナル 阿森纳 арсенал
epl CHE | チェルシー 切尔西 челси
epl LIV | リヴァプール リバプール 利物浦 ливерпуль
bundesliga MUN | バイエルン 拜仁 бавария
seriea JUV | ユヴェントス ユベントス 尤文图斯 尤文 ювентус
ligue1 PSG | パリ・サンジェルマン パリサンジェルマン 巴黎圣日耳曼 псж
mlb LAD | ドジャース 道奇 доджерс
mlb NYY | ヤンキース 洋基 янкиз
mlb LAA | エンゼルス
"""
_SCRIPT_SOCCER_WORDS = frozenset(
    word_list("バルセロナ 巴塞罗那 барселона барселоны реал арсенал бавария ливерпуль")
)

_SCRIPT_LEAGUES = """
nba | nba 美职篮 нба
wnba | wnba
epl | プレミアリーグ 英超 апл премьер-лиги английской премьер-лиги
laliga | ラ・リーガ ラリーガ 西甲
bundesliga | ブンデスリーガ 德甲 бундеслиги бундеслига
seriea | セリエa 意甲
ligue1 | 法甲
ucl | チャンピオンズリーグ 欧冠 歐冠 лиги чемпионов лига чемпионов лиге чемпионов
mlb | mlb メジャーリーグ 大リーグ мла
nfl | nfl нфл
nhl | nhl нхл
worldcup | ワールドカップ 世界杯 чемпионата мира чм
"""


def _script_index() -> tuple[dict[str, Name], dict[str, str]]:
    names: dict[str, Name] = {}
    for line in _SCRIPT_NAMES.strip().splitlines():
        code, words = (part.strip() for part in line.split("|"))
        for word in words.split():
            kind = "nick" if word in _SCRIPT_WORDS else "name"
            names[word.replace("-", " ")] = Name(kind, (TEAMS["nba", code],))
    for line in _SCRIPT_SOCCER.strip().splitlines():
        ident, words = (part.strip() for part in line.split("|"))
        league, code = ident.split()
        for word in words.split():
            kind = "city" if word in _SCRIPT_SOCCER_WORDS else "name"
            names[word.replace("-", " ")] = Name(kind, (TEAMS[league, code],))
    leagues: dict[str, str] = {}
    for line in _SCRIPT_LEAGUES.strip().splitlines():
        ident, words = (part.strip() for part in line.split("|"))
        for word in words.split():
            if word not in ("лиги", "лига", "лиге", "чемпионата", "мира", "английской"):
                leagues[word] = ident
    leagues.pop("чемпионов", None)
    leagues |= {"лиги чемпионов": "ucl", "лига чемпионов": "ucl", "лиге чемпионов": "ucl"}
    leagues |= {"чемпионата мира": "worldcup"}
    return names, leagues


SCRIPT_NAMES, SCRIPT_LEAGUES = _script_index()
"""Team names and leagues as they stand inside a Japanese, Chinese or Russian text."""
