"""Word tables of the cache's gate and keyword key: English, as data.

Promises: plain sets and maps of lower-case words, no rules. A word that stands in none of them is
*content*: it must be found on both sides before a stored answer may be served. Every word added to
``FILLER`` or ``SOFT`` therefore loosens the gate, every word added to ``SYNONYMS`` lets two words stand for
each other.

Must not know: which question sets are used for measuring. Entries are general English, not phrases of a set.
"""

from __future__ import annotations


def listed(text: str) -> list[str]:
    """The words of a table line."""
    return text.split()


def _set(text: str) -> frozenset[str]:
    return frozenset(listed(text))


ARTICLES = _set("a an the")
BE = _set("is are was were be been being am 's 're 'm")
AUXILIARIES = BE | _set(
    """do does did done doing has have had having 've 'd 'll can could may might must shall should will
    would ought"""
)
MODALS = {
    **dict.fromkeys(("can", "could", "may", "might"), "can"),
    **dict.fromkeys(("should", "must", "ought"), "should"),
    **dict.fromkeys(("will", "shall", "'ll"), "will"),
}
PAST = _set("was were did had")
PRESENT = _set("is are am does do has 's 're 'm")
PRONOUNS = {
    **dict.fromkeys(_set("i me my mine myself we us our ours ourselves"), "i"),
    **dict.fromkeys(_set("you your yours yourself u ur"), "you"),
    **dict.fromkeys(_set("he him his himself"), "he"),
    **dict.fromkeys(_set("she her hers herself"), "she"),
    **dict.fromkeys(_set("they them their theirs themselves"), "they"),
    **dict.fromkeys(_set("it its itself one's oneself"), "it"),
}
PREPOSITIONS = _set(
    """of in on at during for about to from into onto by than as with via through across toward towards upon
    per"""
)
"""Words that only give the following words a role."""
ROLES = {
    "into": "to",
    "onto": "to",
    "during": "in",
    "toward": "to",
    "towards": "to",
    "via": "through",
    "across": "through",
}
FREE_ROLES = _set("of in during on at for about as upon")
"""Roles that compounds express without a preposition: "price of bitcoin", "bitcoin price"."""
JOINERS = _set("and or nor vs versus & , /")
DEMONSTRATIVES = _set("this these those")
GENERIC_SUBJECTS = _set("i you we one u ya people someone somebody anyone anybody they person")
"""Subjects of a question that is about whoever asks: "how do I …", "how does one …"."""
SUBJECT_AUXILIARIES = _set("do does did can could should would will")
POSSESSIVES = _set("my your our his her their its")

FILLER = (
    ARTICLES
    | AUXILIARIES
    | PREPOSITIONS
    | frozenset(PRONOUNS)
    | _set(
        """and or nor & between both either vs versus
        there here this that these those such some any which what who whom whose whatever
        so also then too very really actually exactly basically simply quite rather please pls plz kindly
        thanks thank hello hi hey dear ok okay oh um well yes
        itself oneself one someone somebody something anyone anybody anything person's
        let lets per se etc eg ie etcetera
        get got getting gets go going goes gone went
        know known knowing generally usually
        currently current now presently
        whether if
        """
    )
)
"""Dropped before comparing."""

SOFT = _set(
    """way thing make give take use need want like try look see come help tell find become seem work happen
    possible able actual real certain just even still already ever yet particular specific
    different various many lot kind sort type example tip idea suggestion advice
    feel think believe say talk ask
    people person human
    while when although though because
    show list display available offer provide consider call hold exist contain keep always include name
    available
    """
)
"""Common words that seldom change what is asked: one unmatched word of these is no difference by itself."""

NEGATIONS = _set(
    """not n't no never none neither without cannot cant dont doesnt didnt isnt arent wasnt werent wont
    wouldnt couldnt shouldnt hasnt havent hadnt mustnt aint except excluding nothing nobody nowhere hardly
    non lack lacking unable fail minus besides unless"""
)
NEGATION_CLASS = {
    **dict.fromkeys(_set("except excluding besides minus"), "except"),
    **dict.fromkeys(_set("never"), "never"),
    **dict.fromkeys(_set("without lack lacking"), "without"),
    **dict.fromkeys(_set("unless"), "unless"),
    **dict.fromkeys(_set("hardly"), "hardly"),
    **dict.fromkeys(_set("fail"), "fail"),
}
"""What a negating word says where it is not simply "not"."""

TIME = _set(
    """today tonight yesterday tomorrow week weekend month year day night morning afternoon evening noon
    midnight hour decade century quarter season spring summer autumn fall winter january february march
    april may june july august september october november december jan feb mar apr jun jul aug sep sept oct
    nov dec monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thurs fri sat sun
    last next previous recent recently past future ago later earlier early late upcoming former before after
    since until till during daily weekly monthly yearly annual annually hourly historical historically
    originally formerly latest newest"""
)
COMPARISON = _set(
    """more less most least fewer fewest better best worse worst than greater lesser over under above below
    beyond equal same versus compared comparison exceed top bottom maximum minimum max min peak upper lower
    average mean median total sum"""
)
SCOPE = _set(
    """all every each only whole entire few several first last male female man woman child adult men women
    children public private free official main major minor local global national international domestic
    foreign"""
)

UNIT_WORDS = _set(
    """percent km kilometer meter centimeter cm millimeter mm mile mi yard inch foot ft kg kilogram gram
    pound lb ounce oz ton tonne liter litre milliliter ml gallon pint cup celsius fahrenheit kelvin degree
    second minute hour watt kilowatt megawatt milliwatt volt ampere ohm joule calorie kcal byte kilobyte
    megabyte gigabyte terabyte bit hertz usd eur gbp jpy inr cny chf cad aud krw rub brl rupee euro yen yuan
    franc peso ruble acre hectare knot mph kph mps milligram microgram millisecond microsecond kilobit
    megabit gigabit terabit petabyte gigawatt kilohertz megahertz gigahertz millivolt kilovolt milliampere
    kilowatthour megawatthour pascal megapascal millipascal newton tablespoon teaspoon sqm sqft sqkm
    nanometer micrometer bar psi stone fathom nzd hkd sgd mxn sek nok dkk pln czk huf thb zar ils"""
)
AGENTS = {
    **dict(
        pair.split("=")
        for pair in listed(
            """founder=establish cofounder=establish founders=establish inventor=invent
            inventors=invent creator=create creators=create composer=compose composers=compose
            discoverer=discover discoverers=discover designer=design designers=design author=write
            authors=write writer=write writers=write painter=paint painters=paint
            builder=build builders=build
            winner=win winners=win killer=kill killers=kill
            murderer=murder translator=translate
            """
        )
    )
}
"""Who did it, and what was done: "who is the founder of" asks what "who founded" asks."""
DEEDS = _set("establish invent create compose discover design write paint build kill murder translate")
"""Done once and for all: present and past ask the same ("who is", "who was the inventor of …"). Not an
office that one has for a time (director), nor what is won each year."""
CLASSES = _set(
    """city town village country state river mountain lake island ocean planet event building person man
    woman"""
)
"""What "which city is the capital of" names and "what is the capital of" leaves out. Not qualities: "what
color is the sun" is not "what is the sun"."""
MISSPELLED = {
    **dict(
        pair.split("=")
        for pair in listed(
            """absense=absence accomodate=accommodate accomodation=accommodation adress=address
            agressive=aggressive arguement=argument begining=beginning beleive=believe benifit=benefit
            buisness=business calender=calendar catagory=category cemetary=cemetery collegue=colleague
            comming=coming commitee=committee definately=definitely definetly=definitely definate=definite
            dependant=dependent diffrent=different differance=difference embarass=embarrass
            enviroment=environment excercise=exercise existance=existence experiance=experience
            foriegn=foreign freind=friend goverment=government grammer=grammar garantee=guarantee
            gaurantee=guarantee happend=happened harrass=harass immediatly=immediately
            independant=independent intresting=interesting knowlege=knowledge liason=liaison libary=library
            liscence=license maintainance=maintenance maintenence=maintenance millenium=millennium
            neccessary=necessary necesary=necessary noticable=noticeable occured=occurred occurence=occurrence
            oppurtunity=opportunity oppertunity=opportunity parliment=parliament persistant=persistent
            posession=possession prefered=preferred presance=presence priviledge=privilege
            pronounciation=pronunciation publically=publicly recieve=receive recieved=received
            reccomend=recommend recomend=recommend refered=referred relevent=relevant religous=religious
            remeber=remember restaraunt=restaurant resturant=restaurant rythm=rhythm seige=siege
            seperate=separate seperation=separation succesful=successful sucessful=successful
            suprise=surprise temperture=temperature temparature=temperature tommorow=tomorrow
            tommorrow=tomorrow tomorow=tomorrow truely=truly unfortunatly=unfortunately untill=until
            wether=whether wich=which writting=writing teh=the alot=many becuase=because
            langauge=language lenght=length hieght=height wieght=weight univeristy=university
            managment=management medecine=medicine paralel=parallel portugese=portuguese vaccum=vacuum
            wierd=weird"""
        )
    )
}
"""The commonest misspellings; none of them is another word."""
COMPARATIVE_BASES = _set(
    """big large small tall short long high low fast slow old young new cheap dear rich poor hot cold warm
    cool strong weak light dark hard soft easy early late near far close wide narrow deep shallow thick thin
    great few safe heavy healthy happy bright loud quiet clean dirty smart rare simple"""
)
CURRENCIES = _set(
    """usd eur gbp jpy inr cny chf cad aud krw rub brl nzd hkd sgd mxn sek nok dkk pln czk huf thb zar ils
    rupee euro yen yuan franc peso ruble"""
)
OPPOSITES: tuple[tuple[str, str], ...] = tuple(
    (pair.split("/")[0], pair.split("/")[1])
    for pair in listed(
        """safe/unsafe legal/illegal increase/decrease buy/sell before/after more/less most/least
    high/low higher/lower highest/lowest import/export open/close enable/disable pro/con
    advantage/disadvantage benefit/drawback benefit/risk start/stop begin/end first/last early/late
    earlier/later earliest/latest best/worst better/worse good/bad big/small bigger/smaller biggest/smallest
    long/short longer/shorter longest/shortest old/young older/younger oldest/youngest old/new oldest/newest
    fast/slow faster/slower fastest/slowest hot/cold hotter/colder hottest/coldest rise/fall gain/lose
    win/lose gain/loss profit/loss positive/negative add/remove install/uninstall upload/download
    lock/unlock encrypt/decrypt encode/decode login/logout connect/disconnect attach/detach push/pull
    send/receive give/take lend/borrow teach/learn accept/reject allow/forbid allow/prevent allow/deny
    approve/reject cause/prevent cause/cure support/oppose for/against include/exclude inside/outside
    indoor/outdoor north/south east/west northern/southern eastern/western left/right up/down top/bottom
    upper/lower over/under above/below maximum/minimum max/min male/female man/woman boy/girl husband/wife
    father/mother son/daughter brother/sister uncle/aunt king/queen actor/actress public/private true/false
    right/wrong hard/easy difficult/easy hard/soft strong/weak rich/poor wet/dry day/night morning/evening
    summer/winter sunrise/sunset past/future last/next previous/next yesterday/tomorrow arrive/depart
    arrive/leave enter/leave arrival/departure inbound/outbound input/output internal/external debit/credit
    asset/liability supply/demand deposit/withdraw long/short bull/bear bullish/bearish freeze/thaw
    heat/cool expand/contract expand/shrink grow/shrink ascending/descending forward/backward major/minor
    majority/minority parent/child employer/employee buyer/seller teacher/student guilty/innocent hire/fire
    create/destroy create/delete build/destroy love/hate like/dislike agree/disagree trust/distrust
    heavy/light heavier/lighter deep/shallow wide/narrow thick/thin near/far nearest/farthest
    closest/farthest cheap/expensive cheaper/costlier cheapest/dearest tall/short taller/shorter
    tallest/shortest possible/impossible visible/invisible active/inactive complete/incomplete
    correct/incorrect dependent/independent direct/indirect formal/informal healthy/unhealthy known/unknown
    lucky/unlucky married/unmarried paid/unpaid employed/unemployed regular/irregular
    reversible/irreversible stable/unstable symmetric/asymmetric synchronous/asynchronous valid/invalid
    mutable/immutable alive/dead live/die birth/death born/die war/peace attack/defend victory/defeat
    friend/enemy export/import exporter/importer offense/defense vertical/horizontal manual/automatic
    introvert/extrovert optimist/pessimist theist/atheist liberal/conservative democrat/republican"""
    )
)

IRREGULAR = {
    **dict(
        pair.split("=")
        for pair in listed(
            """men=man women=woman children=child feet=foot teeth=tooth mice=mouse geese=goose wives=wife
        lives=life leaves=leave wolves=wolf knives=knife halves=half criteria=criterion phenomena=phenomenon
        went=go bought=buy sold=sell won=win lost=lose wrote=write written=write made=make led=lead
        beaten=beat defeated=defeat built=build sent=send spent=spend paid=pay said=say told=tell found=find
        thought=think taught=teach caught=catch brought=bring fought=fight held=hold kept=keep slept=sleep
        met=meet left=leave felt=feel meant=mean heard=hear ate=eat eaten=eat drank=drink drunk=drink
        drove=drive driven=drive flew=fly flown=fly grew=grow grown=grow knew=know known=know gave=give
        given=give took=take taken=take saw=see seen=see came=come began=begin begun=begin broke=break
        broken=break chose=choose chosen=choose spoke=speak spoken=speak stole=steal stolen=steal wore=wear
        worn=wear fell=fall fallen=fall rose=rise risen=rise sang=sing sung=sing swam=swim ran=run
        became=become understood=understand stood=stand died=die dying=die lying=lie used=use using=use
        ties=tie died=die dies=die lay=lie hid=hide hidden=hide shot=shoot struck=strike sank=sink sunk=sink
        tore=tear torn=tear forgot=forget forgotten=forget forgave=forgive froze=freeze frozen=freeze
        does=do did=do is=be are=be was=be were=be has=have had=have data=data media=media news=news
        series=series species=species lens=lens bus=bus gas=gas this=this his=his us=us its=its plus=plus
        minus=minus always=always analyses=analysis theses=thesis crises=crisis united=united hundred=hundred
        evening=evening morning=morning during=during nothing=nothing something=something anything=anything
        everything=everything ceiling=ceiling wedding=wedding being=be meeting=meeting building=building
        wing=wing king=king ring=ring sing=sing bring=bring thing=thing spring=spring string=string
        swing=swing sting=sting cling=cling red=red bed=bed need=need feed=feed seed=seed speed=speed
        breed=breed deed=deed weed=weed greed=greed indeed=indeed exceed=exceed proceed=proceed
        succeed=succeed embed=embed shed=shed wed=wed hired=hire fired=fire wired=wire tired=tired
        deleted=delete deleting=delete completed=complete completing=complete competing=compete
        competed=compete
        changed=change changing=change arranged=arrange arranging=arrange exchanged=exchange
        exchanging=exchange challenged=challenge explored=explore exploring=explore restored=restore
        restoring=restore ignored=ignore ignoring=ignore stored=store storing=store promoted=promote
        promoting=promote opened=open opening=open visited=visit visiting=visit edited=edit editing=edit
        limited=limit limiting=limit dying=die tying=tie owed=owe
        licence=license licences=license licenced=license licencing=license defence=defense
        defences=defense offence=offense offences=offense pretence=pretense cheque=check cheques=check
        grey=gray tyre=tire tyres=tire aluminium=aluminum mum=mom mums=mom pyjamas=pajamas
        jewellery=jewelry plough=plow mould=mold sulphur=sulfur artefact=artifact artefacts=artifact
        sceptic=skeptic sceptical=skeptical fulfil=fulfill enrol=enroll skilful=skillful
        instalment=installment instalments=installment ageing=aging storey=story moustache=mustache
        manoeuvre=maneuver draught=draft kerb=curb speciality=specialty
        founded=establish founding=establish syncing=sync synced=sync leaf=leave engineering=engineering
        caches=cache cached=cache caching=cache aches=ache headaches=headache niches=niche indices=index
        vertices=vertex matrices=matrix axes=axis invited=invite inviting=invite
        travelling=travel travelled=travel cancelled=cancel cancelling=cancel modelling=model created=create
        creating=create
        fence=fence judged=judge judging=judge fenced=fence
        physics=physics mathematics=math maths=math economics=economics politics=politics ethics=ethics
        ios=ios dns=dns ipfs=ipfs aws=aws sms=sms gps=gps cms=cms tls=tls https=https rss=rss"""
        )
    ),
}
"""Inflected forms that the light stemmer would miss or spoil."""

_SYNONYM_GROUPS = """
price value worth cost quote fare
afraid scared frightened
stupid dumb
add insert
course class
border neighbor neighbour adjoin adjacent
inr rupee rs
bike bicycle
forbid prohibit ban
hotel lodging
disease illness
ability capability
famous renowned
convert conversion
compare comparison
population inhabitant
elevation altitude
effective efficient
hire employ
trash garbage
cheap affordable inexpensive
wealthy rich
shut close
award prize
entire whole
boss supervisor
big large huge
bigger larger
biggest largest
start begin commence
buy purchase
important significant
fast quick quickly rapid rapidly speedily
smart intelligent clever
sick ill
error mistake
answer reply response
repair fix
movie film
car automobile
job occupation
doctor physician
lawyer attorney
cellphone smartphone
picture photo photograph image
kid child
choose select pick
require need
reason cause
method technique
happen occur
allow permit let
obtain acquire
remove delete
create make
construct build
effect consequence
difference distinction differ distinguish
purpose aim goal
trip journey
rule regulation
author writer
write author
enhance improve better
website site webpage
laptop notebook
vacation holiday
beautiful pretty
nation country
town city
company firm
drug medication medicine
speed velocity
eth ethereum ether
km kilometer kilometre
kg kilogram kilo
meter metre
cm centimeter centimetre
mm millimeter millimetre
mile mi
pound lb
ounce oz
gram gramme
liter litre
minute min
second sec
hour hr
foot ft
celsius centigrade
percent percentage pct
usd dollar buck
milliliter ml
hertz hz
kilohertz khz
megahertz mhz
gigahertz ghz
yard yd
gallon gal
tablespoon tbsp
teaspoon tsp
year yr
millisecond ms
milligram mg
microgram mcg
kph kmh
eur euro
gbp sterling
jpy yen
tv television
app application
info information
program programme
max maximum
min minimum
depart leave
arrive reach
nearest closest
farthest furthest
expensive costly pricey
prior previous
weight heaviness
height tallness
quickest fastest
teach educate
phone telephone
forecast prediction predict
invent invention inventor
discover discovery discoverer
exam examination test
symptom sign
help assist aid
earn salary
death die
birth born
require requirement
annual yearly
jail prison
freedom liberty
petrol gasoline
finish end conclude
directory folder
math mathematics
"""


def _synonyms() -> dict[str, str]:
    table: dict[str, str] = {}
    for line in _SYNONYM_GROUPS.split("\n"):
        words = line.split()
        for word in words:
            table.setdefault(word, words[0])
    return table


SYNONYMS = _synonyms()
