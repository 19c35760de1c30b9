"""Statements of illness, treatment and medicine about the speaker or a relative, in English, German, French,
Spanish, Italian, Portuguese and Dutch.

Pure. A statement has a person ("I", "my wife"), a verb of having or taking, and the word for an illness, a
treatment or a medicine, or a form of its own ("as a diabetic", "my A1c came back 8.2"). A question that asks
in general ("How is asthma treated?") has none of these.
"""

from __future__ import annotations

import re
from functools import lru_cache

from node.privacy.text import Text, by_first_letter

_ILL = (  # stems of words, in all languages: many names of illnesses differ by their ends only
    r"diab[eé]t|canc(?:er|ro)|cáncer|câncer|kanker|krebs|leuk[aä]|leuc[eé]m|lymphom|linfoma"
    r"|melanom|tum(?:o|eu)r"
    r"|hiv\b|vih\b|aids\b|sida\b|hepatiti|herpes|chlamydi|clamidi|gonorr|syphili|s[ií]filis|hpv\b"
    r"|std\b|sti\b"
    r"|depress|depresi|dépressi|bipol|manic|schi[zs]o|esquizo|psycho(?:sis|se)|psicos|anore[xs]"
    r"|bulimi|ptsd\b|ocd\b"
    r"|adhd\b|adhs\b|tdah\b|autis|asperger|epile|épilep|seizure|convuls|lupus|multiple? ?skl?eros"
    r"|sclérose|esclerosis"
    r"|sclerosi|parkinson|alzheimer|dementi?|demenz|démence|crohn|colitis|colite|kolitis|endometr"
    r"|pcos\b|fibromyal"
    r"|arthrit|arthros|artrit|artros|rheuma|reuma|psoria|asthm?|asma\b|astma|copd\b|copd"
    r"|migr[aäñ]|anxiety|anxiét"
    r"|ansia\b|ansiedad|ansiedade|angststör|angststoornis|panic attack|panikattack|insomni"
    r"|schlafstör|hypertensi"
    r"|hipertens|ipertens|bluthochdruck|high blood pressure|hoge bloeddruk|pressão alta"
    r"|kidney (?:disease|failure|stone)"
    r"|liver (?:disease|failure)|cirrhos|zirrhose|cirros|heart (?:disease|failure|attack"
    r"|condition|murmur)|herz(?:infarkt|"
    r"fehler|schwäche)|infarct|infarto|infarctus|hartaanval|strokes?\b|schlaganfall|ictus|derrame"
    r"|beroerte|thyroid|schilddrüs"
    r"|thyroïd|tiroid|tireoid|schildklier|an[aeä]mi|celiac|coeliac|zöliaki|coeliaki|eczem|ekzem"
    r"|neurodermit|alcoholi[cs]"
    r"|alkoholi[ks]|alcoolis|alcooliq|alcolis|heroin|opioid|cocaine addict|addict|süchtig"
    r"|verslaafd|dipendenz[ae] (?:da|dall)|dipendente da|adicci|adict"
    r"|toxicoman|eating disorder|essstör|eetstoornis|miscarr|fehlgeburt|fausse couche|miskraam"
    r"|abort|pregnan|schwanger"
    r"|enceinte|embaraz|incinta|grávid|zwanger|infertil|unfruchtbar|chemo|quimio|chimio"
    r"|radiation therapy|bestrahlung"
    r"|dialys|diálisis|dialisi|transplant|biops|mastectom|hysterectom|vasectom|appendectom"
    r"|colonoscop|surgery|concussi"
    r"|gehirnerschütter|covid|tubercul|tuberkul|graves|hashimoto|gout\b|hernia|fibroid|scolios"
    r"|skolios|sciatica|shingles"
    r"|gürtelrose|pneumoni|lungenentzündung|lyme|borrelios|malaria|sepsis|glaucom|glaukom"
    r"|tinnitus|sleep apn|apnoe|apnée"
    r"|narcolep|tourette|borderline|sickle cell|h(?:a)?emophil|cystic fibrosis|mukoviszid"
    r"|mucoviscid|huntington|myelom"
    r"|sarcom|carcinom|karzinom|brca\d?|ulcer|magengeschwür|gallstone|pancreatit|diverticul"
    r"|reflux|hemorrhoid|hämorrh"
    r"|urinary tract|blasenentzünd|cystit|yeast infection|ear infection|kidney infection|bronchit"
    r"|sinusit|angina|arrhythm"
    r"|atrial fib|vorhofflimm|blood clot|thrombos|trombos|embolism|aneurysm|neuropath|parapleg"
    r"|paralys|querschnitt"
    r"|menopaus|erectile|allerg|alérgi|alergi|burn-?out|bandscheib|hernie|wheelchair|rollstuhl"
    r"|fauteuil roulant"
    r"|silla de ruedas|sedia a rotelle|cadeira de rodas|rolstoel|pacemaker|herzschrittmacher"
    r"|marcapasos|stoma\b|catheter"
    r"|suicid|suizid|selbstmord|self-harm|in remission|relaps|overdos|transtorno|trastorno"
    r"|disturbo|stoornis|störung\b"
    r"|ziekte van|malattia|enfermedad|doença|krankheit\b|maladie"
)
_DRUG = (
    r"metformin|insulin|sertralin|zoloft|prozac|fluoxetin|lexapro|(?:es)?citalopram|wellbutrin"
    r"|bupropion|lithium\b"
    r"|xanax|alprazolam|adderall|ritalin|methylphenidat|concerta|elvanse|vyvanse|warfarin|eliquis"
    r"|xarelto|marcumar"
    r"|methadon|suboxon|oxycodon|morphin|morfin|tramadol|fentanyl|prednison|prednisolon|cortison"
    r"|methotrexat|humira"
    r"|ozempic|wegovy|mounjaro|semaglutid|levothyrox|l-thyrox|lisinopril|ramipril|amlodipin"
    r"|losartan|bisoprolol"
    r"|metoprolol|atorvastatin|simvastatin|statins?\b|antidepress|antidépress|antidepres"
    r"|antidepressiv|antipsychotic"
    r"|antibioti|birth control|beta[- ]?block|blood thinner|testosteron|estrogen|östrogen|truvada"
    r"|prep\b|antiretroviral"
    r"|quetiapin|seroquel|olanzapin|risperidon|lamotrigin|lamictal|venlafaxin|effexor|duloxetin"
    r"|cymbalta|mirtazapin"
    r"|gabapentin|pregabalin|lyrica|valium|diazepam|lorazepam|clonazepam|tamoxifen|finasterid"
    r"|viagra|sildenafil"
    r"|omeprazol|pantoprazol|ventolin|salbutamol|albuterol|epipen|chemotherap|keppra|valproat"
    r"|naltrexon|antabus"
)
_AWAY = (
    r"(?:what|why|how|if|whether|wondering|asking|curious|looking|writing|written|reading|read"
    r"|learning|learn|studying|about"
    r"|research\w*|interested|question|questions|know|data|dataset|paper|article|essay|exam"
    r"|presentation|model|heard|prevent"
    r"|cure|understand|think|wie|warum|ob|frage|fragen|über|pourquoi|comment|si|sur|question"
    r"|curieu\w+|qué|cómo|sobre"
    r"|curiosidad|pregunta|duda|domanda|dubbio|curiosità|pergunta|dúvida|vraag|vragen|over|exposé"
    r"|referat|tesi|tesis|tese"
    r"|trabalho|werkstuk|escrib\w+|leyendo|leggendo|lendo|lees|schreibe|lese|écris|lis|never|nie"
    r"|jamais|nunca|mai|nooit)\b"
)
_GAP = rf"(?: (?!{_AWAY})[\w'.%-]+,?){{0,5}}? (?:[\w]+-)?"
_OTHER = (  # what the word for an illness is part of
    r"(?!\w*[- ](?:free|related|era|glass|transistor|data|dataset|survival|oil|model|px|\d|of \d"
    r"|scheduling|recipe|icon|junction"
    r"|charity|awareness|fund|simulation|game|app\b|calculator|batter|atmosph|im sternzeichen"
    r"|sternzeichen|tropical|curve"
    r"|long\b|meeting|monday|work\b|javascript|php|da prestazione|di maven|width|color|colour|engine))"
)
_WHAT = rf"(?:(?<!two-)(?<!four-)(?:{_ILL}|{_DRUG}){_OTHER})"
_KIN_EN = (
    r"(?:son|daughter|wife|husband|partner|spouse|mother|mom|mum|father|dad|brother|sister|child"
    r"|kid|baby|toddler|girlfriend"
    r"|boyfriend|fiancée?|grandmother|grandma|grandfather|grandpa|aunt|uncle|cousin|nephew|niece"
    r"|twin|in-law|stepson|stepdaughter"
    r"|parents|twins|\d{1,2}[- ](?:year|month|week)[- ]old|teenager)"
)
_KIN = (
    rf"my (?:[\w-]{{1,14}} ){{0,2}}?{_KIN_EN}(?:-in-law)?"
    r"|(?:mein|meine|meinem|meiner|unser|unsere) (?:\w+ )?(?:frau|mann|sohn|tochter|mutter|vater"
    r"|oma|opa|bruder|schwester|kind"
    r"|freund|freundin|tante|onkel|partner|partnerin|baby|großmutter|großvater)"
    r"|(?:mon|ma|notre|mes) (?:\w+ )?(?:mari|femme|fils|fille|mère|père|frère|sœur|soeur|enfant"
    r"|conjointe?|compagn\w+|copine"
    r"|copain|tante|oncle|bébé|grand-mère|grand-père)"
    r"|(?:mi|nuestr[oa]|mis) (?:\w+ )?(?:marido|mujer|esposo|esposa|hijo|hija|madre|padre|hermano"
    r"|hermana|abuelo|abuela|novio"
    r"|novia|tío|tía|bebé|suegr[oa]|pareja)"
    r"|(?:mio|mia|nostr[oa]) (?:\w+ )?(?:marito|moglie|figlio|figlia|madre|padre|fratello|sorella"
    r"|nonno|nonna|zio|zia|compagn[oa]"
    r"|fidanzat[oa]|bambin[oa])"
    r"|(?:meu|minha|nosso|nossa) (?:\w+ )?(?:marido|mulher|esposa|filho|filha|mãe|pai|irmão|irmã"
    r"|avô|avó|tio|tia|namorad[oa]|bebé)"
    r"|(?:mijn|onze|ons) (?:\w+ )?(?:man|vrouw|zoon|dochter|moeder|vader|broer|zus|kind|oma|opa"
    r"|vriend|vriendin|tante|oom|partner)"
)
_HAS = (
    r"(?: just| recently| also| always| now)?(?: has| had|'s had| has been| was| is|'s| got"
    r"| takes| took| suffers| developed"
    r"| lives| died| passed| needs| had to| caught| carries| hat| hatte| ist| leidet| litt| nimmt"
    r"| bekam| bekommt| wurde| war| a"
    r"| est| souffre| prend| avait| était| tiene| tuvo| está| es| sufre| padece| toma| padecía"
    r"| murió| ha| è| soffre|"
    r" aveva| prende| tem| teve| sofre| tomou| foi| estava| heeft| had| is| lijdt| slikt| kreeg| gebruikt)"
)
_TOLD = re.compile(
    # the speaker has, takes, underwent
    rf"\b(?:i|we)(?:'ve|'m|'d)?(?: (?:have|had|has|am|was|were|do|did|just|recently|also|currently"
    rf"|been|always|only|still|now"
    rf"|got|get|once|finally|never fully)){{0,4}} ?(?:have|had|got|suffer\w*|live with|living with"
    rf"|struggl\w+|battl\w+|beat|survived"
    rf"|caught|contracted|develop\w+|diagnosed|recover\w*|treated|undergo\w*|underwent|take|taking"
    rf"|took|prescribed|started|on|carry"
    rf"|tested|allergic|inject|quit|stopped|came off|am|was|being|need|lost|inherited|sober|clean"
    rf"|in|using|use|used){_GAP}{_WHAT}"
    rf"|\bi'?(?: a)?m (?:(?!{_AWAY})[\w-]+ ){{0,4}}(?:[\w]+-)?{_WHAT}"
    rf"|\b(?:{_KIN}){_HAS}{_GAP}(?:{_WHAT}|diagnos)"
    rf"|\b(?:ich|wir) (?:habe|haben|hatte|bekomme|bekam|leide|litt|nehme|bin|war|wurde|musste|muss"
    rf"|brauche|spritze){_GAP}{_WHAT}"
    rf"|\b(?:seit|wegen|nach|trotz) mein\w{{1,2}} (?:[\w-]+ )?(?:\w+)?{_WHAT}"
    rf"|\b(?:j'ai|je suis|je prends|je souffre|j'avais|j'étais|on m'a|je fais"
    rf"|je vis avec)(?: d['e] ?)?{_GAP}(?:d'|l')?{_WHAT}"
    rf"|\b(?:tengo|tuve|padezco|sufro|soy|estoy|tomo|me (?:han|ha|diagnosticaron|operaron"
    rf"|recetaron|detectaron)){_GAP}{_WHAT}"
    rf"|\b(?:soffro|ho|sono|prendo|assumo|avevo|ho avuto|mi hanno|mi è stat[oa]|sto prendendo"
    rf"|convivo){_GAP}(?:d'|l'|un')?{_WHAT}"
    rf"|\b(?:tenho|tive|sofro|sou|estou|tomo|fui|vivo com|uso|descobri que){_GAP}{_WHAT}"
    rf"|\bik (?:heb|had|ben|slik|gebruik|lijd|kreeg|neem|was|leef){_GAP}{_WHAT}"
    rf"|\b(?:heb|ben|slik|gebruik) ik{_GAP}{_WHAT}"
    rf"|\b(?:jag har|jeg har|eg har|mam|mám|minulla on|mul on|jag är|jeg er|у меня|у мене|я"
    rf" болею){_GAP}{_WHAT}"
    rf"|\bheb (?:sinds|al|een|last|nu|ook|zelf){_GAP}{_WHAT}"
    # an illness called theirs, of which they tell something
    rf"|\bmy (?:[\w'-]+ ){{0,2}}(?:{_ILL}){_OTHER}\w*(?:,| and| meds| \w+ly)? ?(?:is|are|was|'s|has"
    rf"|have|flares?|makes?|keeps?"
    r"|came|come|comes|got|gets|back|went|acts?|acting|won't|doesn't|hurts?|started|returned|worsen\w*)\b"
    rf"|\b(?:as|with|because of|given|since) your (?:[\w'%-]+ ){{0,8}}?(?:{_ILL}){_OTHER}"
    # a role, a treatment called theirs, values
    r"|\b(?:as|being) an? (?:[\w-]+ ){0,2}?(?:alcoholic|diabetic|epileptic|asthmatic"
    r"|h(?:a)?emophiliac|c(?:o)?eliac|addict|amputee"
    r"|autistic|(?:cancer|transplant|stroke|dialysis|heart) (?:survivor|patient|recipient)"
    r"|wheelchair user|survivor of \w+"
    r"|(?:hiv|bipolar)\b[\w -]{0,12})[^.?!\n]{0,60}?\b(?:i|i'm|my|me)\b"
    r"|\b(?:als|en tant que|como|come|als) (?:\w+ )?(?:diabetiker\w*|epileptiker\w*"
    r"|asthmatiker\w*|diabétique|asthmatique"
    r"|diabétic[oa]|asmátic[oa]|diabetic[oa]|diabeticus|diabeet)\b[^.?!\n]{0,60}?\b(?:ich|mir|je"
    r"|mon|puedo|mi|posso|ik|mijn)\b"
    rf"|\b(?:after|since|before|during|because of|due to|following|despite|with|from"
    rf"|until) my (?:[\w'-]+ ){{0,3}}?(?:[\w]+-)?"
    rf"(?:{_WHAT}|operation|spinal|accident|amputation|c-section|cesarean|bypass|knee replacement"
    rf"|hip replacement|stent|diagnosis)"
    r"|\bmy (?:[\w'-]+ ){0,3}?(?:hb ?a1c|a1c|blood (?:sugar|pressure|glucose)|cholesterol|tsh|psa"
    r"|ldl|hdl|triglycerides|creatinine"
    r"|ferritin|viral load|cd4(?: count)?|platelets|egfr|bmi|hemoglobin|fasting glucose|t-score"
    r"|phq-9|bilirubin|testosterone)\b"
    r"[^.?!\n]{0,32}?(?:\d|\bhigh\b|\blow\b|elevated|abnormal)"
    r"|\bmy (?:[\w'-]+ ){0,3}?(?:tests?|test results?|results?|biopsy|scan|mri|smear|mammogram"
    r"|swab|labs?|x-ray|ultrasound|screening)"
    r"\b[^.?!\n]{0,24}?\b(?:positive for|malignant|benign|cancer\w*|tumou?r|lesion|cyst|nodule|fracture)"
    r"|\bmy (?:[\w'-]+ ){0,3}?(?:biopsy|mri|smear|mammogram|x-ray|ultrasound|ecg|ekg|eeg"
    r"|blood work|bloodwork|blood test)"
    r"\b[^.?!\n]{0,24}?\b(?:positive|abnormal|elevated|bad)\b"
    r"|\bi(?:'ve| have)? (?:been|stayed) (?:clean|sober|hospitali[sz]ed|sectioned|in rehab"
    r"|in therapy|seizure[- ]free|cancer[- ]free)"
    r"|\bi(?:'m| am) (?:\w+ )?(?:deaf|hard of hearing|legally blind|blind in|immunocompromised"
    r"|lactose intolerant|menopausal|sober"
    r"|in remission|on dialysis|on chemo|infertile|trying to conceive|paraly[sz]ed|bulimic"
    r"|anorexic|obese|\d{1,2} weeks along)\b"
    r"|\bi (?:attempted|tried|want|wanted) (?:to )?(?:suicide|kill myself|hurt myself"
    r"|end my life)|\bi (?:cut|hurt|harm) myself"
)
_DENIED = re.compile(
    r"(?:^|\n|[.!?:;] )[^.?!\n]{0,4}(?:(?:and|but|so|hi|hello|hey|please)[, ]+)*(?:how|what|which"
    r"|why|when|where|who|if|suppose|imagine"
    r"|explain|wie|was|welche\w?|warum|wenn|comment|pourquoi|quel\w*|si|cómo|qué|cuál\w*|come"
    r"|cosa|perché|qual[ei]|quais|se|como|qual|o que"
    r"|hoe|wat|welke|waarom|als)\b[^.?!\n]{0,120}$"
)
_GENERAL_I = re.compile(
    r"\b(?:can|could|do|should|will|would|did|might|may|am|is it|must|shall) (?:i|we)\b[^.?!\n]{0,24}$"
)
_HITS_MAX = 256
_ILL_WORD = re.compile(by_first_letter(f"{_ILL}|{_DRUG}"))


@lru_cache(maxsize=4_096)
def is_ill(word: str) -> bool:
    """Whether a word in small letters names an illness, a treatment or a medicine."""
    return _ILL_WORD.match(word) is not None


def find(read: Text) -> str | None:
    """``self_statement`` or None."""
    for count, found in enumerate(_TOLD.finditer(read.lower)):
        if count >= _HITS_MAX:
            return "self_statement"
        before = read.before(found.start(), 160)
        asks = _DENIED.search(before) or _DENIED.search(" " + found[0][:24]) or _GENERAL_I.search(before)
        if asks is None and not _asked(read, found):
            return "self_statement"
    more = _SUFFERED.search(read.lower)
    return (
        "self_statement"
        if more is not None and _GENERAL_I.search(read.before(more.start())) is None
        else None
    )


_SUFFERED = re.compile(
    r"\b(?:lump|growth|rash|cyst|mole|swelling|discharge|sores?|blisters?|warts?|shadow|mass|polyps?) "
    r"(?:\w+ ){0,2}(?:in|on|under|from|near) my (?:\w+ )?(?:breast|testicle|groin|neck|armpit|genitals"
    r"|penis|vagina|back|lung"
    r"|skin|throat|leg|arm|stomach|liver|colon|face|prostate)s?\b"
    r"|\bi(?:'ve| have)? (?:been |keep |started |still )?(?:cutting|harming|hurting|starving|cut|harmed)"
    r" myself(?! while| shaving)\b"
    r"|\b(?:soffro di|soffriamo di|sofro de|sufro de|padezco|je souffre d[e']|ich leide (?:an|unter)|ik"
    r" lijd aan|i suffer from) "
    r"(?!pro[ck]rast|mangel|zeit)[^\W\d_]{3}"
    r"|\b(?:herpes|eczema|psoriasis|asthma|migraine|gout|ibs|crohn's|colitis|lupus|shingles|hiv|depression"
    r"|bipolar)\b"
    r"(?: (?:outbreak|flare(?:-up)?|attack|episode|relapse|symptoms))? (?:again|is back|came back|since"
    r" (?:march|april|may|june"
    r"|last|19|20)|for (?:\d+|two|three|ten) years)[^?\n]{0,40}\b(?:i|my|me)\b"
    r"|\b(?:erectile dysfunction|incontinence|infertility|hair loss|impotence|menopause|diabetic|bipolar"
    r"|hiv|cancer|adhd)"
    r" at (?:age )?\d\d\b[^?\n]{0,16}\b(?:i|i'm|my|me)\b"
)


def _asked(read: Text, found: re.Match[str]) -> bool:
    """Whether the words "can I", "do I" begin right before the statement."""
    return (
        re.search(
            r"\b(?:can|could|do|should|will|would|did|might|may|am|must|shall|kann|darf|soll|puis-je)[ -]$",
            read.before(found.start(), 12),
        )
        is not None
    )
