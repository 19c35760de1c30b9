"""Facts that people tell of their accounts, health, family law and brushes with the law.

Pure. "How do I lower my blood pressure?" asks in general and is free. A fact is told by a form of words ("I
was diagnosed with …"), or by a possessive, a sensitive word and a verb or figure after it, outside a
question that asks how, what or why in general.
"""

from __future__ import annotations

import re

from node.privacy.text import Text

OWN = frozenset(
    [
        "my",
        "our",
        "mein",
        "meine",
        "meinem",
        "meinen",
        "meiner",
        "meines",
        "unser",
        "unsere",
        "unserem",
        "unseren",
        "mon",
        "ma",
        "mes",
        "notre",
        "nos",
        "mi",
        "mis",
        "nuestro",
        "nuestra",
        "nuestros",
        "nuestras",
        "meu",
        "minha",
        "mio",
        "mia",
        "mijn",
    ]
)
"""The possessives that ``tells`` is asked about."""

_ACCOUNT = (
    r"bank (?:account|balance|statement)|account(?: balance| number)?|checking account|savings(?: "
    r"account)?|balance|salary|wages?|pay ?check|pay ?slip|income|debts?|credit score|credit limit"
    r"|tax return|pension|"
    r"overdraft|mortgage|loan|net worth|bank|username|user ?name|user id|login|handle|customer "
    r"number|policy|card|credit card|debit card|"
    r"konto(?:stand|nummer)?|bankkonto|gehalt|lohn|einkommen|schulden|rente|kredit|benutzername"
    r"|passwort|sparbuch|"
    r"compte(?: bancaire| courant)?|solde|salaire|revenus?|dettes?|retraite|identifiant|découvert|"
    r"cuenta(?: bancaria| corriente)?|saldo|sueldo|salario|nómina|ingresos|deudas?|pensión|hipoteca|usuario"
)
_HEALTH = (
    r"diagnos[ie]s|medications?|meds|prescriptions?|test results?|lab results?|blood (?:test|work"
    r"|sugar|pressure|type)|biopsy|mri|scan|x-ray|doctor|gp|gynecologist|oncologist|psychiatrist"
    r"|therapist|psychologist|therapy|"
    r"surgery|operation|chemo(?:therapy)?|pregnancy|miscarriage|abortion|depression|anxiety|adhd"
    r"|autism|diabetes|cancer|tumou?r|hiv|std|sti|herpes|epilepsy|lupus|bipolar|ocd|ptsd|addiction"
    r"|rehab|medical (?:record|history)|"
    r"cholesterol|a1c|psa|pap smear|period|ivf|insulin|antidepressants?|"
    r"diagnose|befund|medikamente|rezept|blutwerte|arzt|ärztin|hausarzt|psychiater\w*|therapeut\w*"
    r"|schwangerschaft|depressionen?|krebs|krankheit|erkrankung|operation|krankenakte|"
    r"diagnostic|médicaments|ordonnance|médecin|psychiatre|psychologue|grossesse|dépression|maladie"
    r"|cancer|analyses|opération|dossier médical|"
    r"diagnóstico|medicación|medicamentos|receta|médico|médica|psiquiatra|psicólog[oa]|embarazo"
    r"|depresión|enfermedad|cáncer|análisis|cirugía|historial médico"
)
_LEGAL = (
    r"lawyer|attorney|solicitor|divorce|custody|lawsuit|court (?:case|date|hearing)|hearing|trial"
    r"|probation|parole|conviction|criminal record|visa application|asylum (?:claim|case"
    r"|application)|immigration (?:case|status)|"
    r"arrest|bankruptcy|restraining order|eviction|case|sentence|settlement|ex-?(?:husband|wife)|"
    r"anwalt|anwältin|scheidung|sorgerecht|prozess|bewährung|vorstrafen?|asylantrag|gerichtstermin"
    r"|verfahren|insolvenz|verurteilung|kündigung|"
    r"avocate?|divorce|garde|procès|condamnation|casier judiciaire|demande d'asile|licenciement|faillite|"
    r"abogad[oa]|divorcio|custodia|juicio|condena|antecedentes penales|despido|desahucio|quiebra|asilo"
)
_TOLD = re.compile(
    rf" (?:[\w'-]{{1,16}} ){{0,2}}?(?P<what>{_ACCOUNT}|{_HEALTH}|{_LEGAL})\b(?P<rest>[^.?!\n]{{0,80}})"
)
_VERB = re.compile(
    r"^(?: [\w-]{2,20}){0,2}?(?: (?:with|at|for|against|from|on|of|in|to|bei|mit|gegen|wegen|avec"
    r"|contre|con|contra|de)(?: [\w'-]{1,20}){1,4}?)? ?(?:is|was|are|were|has|have|had|says?|said"
    r"|came|shows?|showed|prescribed|put|gave|told|thinks|wants|found|diagnosed|recommended|went|got"
    r"|starts|"
    r"ended|dropped|rose|ist|war|hat|hatte|sind|sagt|sagte|meint|verschrieb\w*|gab|liegt|beträgt"
    r"|lautet|steht|est|était|a (?:été|pris|dit|atteint|baissé|augmenté|prescrit|confirmé)|ont"
    r"|sont|dit|pense|m'a|s'élève|es|era|está|ha|dice|dijo|me (?:ha"
    r"|dijo|recetó|dio)|tiene|fue|=|:)(?![\w])"
)
_GENERAL = re.compile(
    r"^\W*(?:(?:and|but|so|ok|okay|hi|hello|hey|please|also|then|und|et|y|bitte)[, ]+)*(?:how|what"
    r"|which|why|when|where|who|whose|can|could|should|would|do|does|did|is|are|am|will|may|might"
    r"|must|was|were|has|have|if|suppose|imagine|assume|say|explain|tell me how|show me how|list"
    r"|give me|help|"
    r"wie|was|welche[rsnm]?|warum|wieso|wann|wo|wer|kann|könnte|soll|sollte|darf|muss|ist|sind|hat"
    r"|wird|comment|que|qu'|quel\w*|pourquoi|quand|où|qui|combien|puis-je|peut|peux|dois|est-ce|faut|"
    r"cómo|como|qué|que|cuál\w*|por qué|cuándo|dónde|quién|cuánt\w*|puedo|debo|puede|es|está)\b"
)
_OTHER = (  # what the word for an illness is part of
    r"(?![- ](?:free|related|glass|transistor|data|dataset|survival|oil|model|px|\d|of \d"
    r"|scheduling|recipe|icon|junction"
    r"|charity|awareness|fund|simulation|game|app\b|calculator|batter|atmosph|im sternzeichen"
    r"|tropical|curve|width|engine))"
)
_STATED = re.compile(
    r"\bi (?:was|am|'ve been|have been|got|just got|have just been|was just|was recently) "
    r"(?:recently |just |first |officially )?(?:diagnosed|hospitali[sz]ed|arrested|convicted|charged "
    r"with|evicted|indicted|sentenced|raped|abused|assaulted|laid off|fired from|sued|adopted"
    r"|prescribed|tested positive)\b"
    r"|\bi'?(?: ?a)?m (?:hiv|\d{1,2} weeks pregnant|pregnant|infertile|bipolar|autistic|diabetic"
    r"|schizophrenic|suicidal|an alcoholic|a recovering|a cancer|undocumented|in rehab|on probation"
    r"|on parole|going through a divorce|getting (?:a )?divorced?|transgender|on (?:antidepressants"
    r"|insulin|lithium|methadone|prozac|zoloft|sertraline|metformin))\b"
    r"|\bi(?: was|'m| am|'ve| have)? (?:suffer(?:ed|ing)?|recover(?:ed|ing)?) from\b|\bi (?:tested"
    r"|have tested) positive\b|\bi(?: currently| now)? (?:take|am taking|'m taking|was prescribed"
    r"|started) \d{1,4} ?(?:mg|mcg|ml|units)\b"
    r"|\bi (?:have|had|'ve got|have had|recently had) (?:been )?(?:an? |my |stage \d |type [12] |the "
    r")?(?:[\w-]+ )?(?:diabetes|cancer|hiv|aids|depression|bipolar|schizophrenia|epilepsy|lupus"
    r"|herpes|chlamydia|hepatitis|ms|multiple sclerosis|parkinson'?s|crohn'?s|abortion|miscarriage"
    r"|heart attack|stroke|"
    r"mastectomy|hysterectomy|vasectomy|tumou?r|leukemia|lymphoma|anorexia|bulimia|ptsd|ocd|adhd"
    r"|endometriosis|criminal record|restraining order|dui|std|sti)\b(?!\?)" + _OTHER + r""
    r"|\bi (?:filed|am filing|have filed|'m filing) for (?:divorce|bankruptcy|custody|asylum)\b|\bi "
    r"(?:owe|earn|make|get paid|am paid|earned|inherited|bank with|net|gross) (?:about |around "
    r"|roughly |over |only )?(?:[$€£]|usd|eur|\d)"
    r"|\bi (?:bank with|bank at) \w+|\bi (?:attempted|tried to commit) suicide\b|\bi (?:am|'m) "
    r"(?:being sued|being evicted|being deported)\b|\bi (?:cheated on|am having an affair|was "
    r"cheated)\b"
    r"|\b(?:bei mir|mir) wurde [^.?!]{0,40}(?:diagnostiziert|festgestellt|verschrieben)|\bich "
    r"(?:leide an|leide unter|bin (?:schwanger|hiv|depressiv|vorbestraft|insolvent|arbeitslos"
    r"|krankgeschrieben|alkoholiker\w*|diabetiker\w*|geschieden)|habe (?:diabetes|krebs|hiv"
    r"|depressionen|epilepsie|schulden|asthma|multiple sklerose|eine depression)|verdiene \d"
    r"|schulde)\b|\bich wurde (?:[^.?!]{0,40} )?(?:verhaftet|verurteilt|gekündigt|entlassen|operiert"
    r"|angezeigt)"
    r"|\bj'ai (?:été (?:diagnostiquée?|arrêtée?|condamnée?|licenciée?|opérée?|hospitalisée?|victime)"
    r"|le (?:sida|vih|cancer)|un cancer|du diabète|fait une fausse couche|des dettes|avorté)\b|\bje "
    r"(?:souffre d|suis (?:enceinte|séropositi\w+|diabétique|dépressi\w+|alcoolique|divorcée?|au "
    r"chômage|sans papiers)|gagne \d|dois \d|touche \d)|\bon m'a (?:diagnostiqué|prescrit)"
    r"|\b(?:me (?:han|ha) (?:diagnosticado|detectado|recetado|operado|despedido|arrestado|detenido)"
    r"|me diagnosticaron|me detectaron|me recetaron|me operaron|me despidieron|me arrestaron|me "
    r"detuvieron|padezco|sufro de|estoy embarazada|soy (?:diabétic[oa]|seropositiv[oa]"
    r"|alcohólic[oa])|tengo (?:diabetes|cáncer|vih|depresión|epilepsia|deudas)|gano \d|debo \d|cobro "
    r"\d)\b"
    r"|\b(?:my|our) (?:\w+ )?(?:user ?name|user id|login|handle|account(?: name| id)?|instagram"
    r"|twitter|facebook|telegram|snapchat|discord|tiktok|linkedin|skype|steam id|github|insta"
    r"|snap)(?: name| handle| id| account| user)? ?(?:is|'s|:|=) ?(?!not\b|too\b|so\b|a\b|an\b|the\b"
    r"|very\b|locked|blocked|hacked|suspended|disabled|gone|down|slow|being|private|public|wrong"
    r"|invalid|taken|what|how)[@\w]"
    r"|\b(?:benutzername|nutzername|kontoname)(?: ist| lautet|:) ?\w|\b(?:mon|mein|mi) "
    r"(?:identifiant|pseudo|usuario|login|instagram|twitter|facebook) (?:est|ist|es|:)",
)
_AMOUNT = re.compile(
    r"[$€£¥] ?\d|\d ?(?:[$€£¥]|usd|eur|gbp|chf|dollars?|euros?|pounds?|francs?|pesos?|bucks|k\b)"
)
_SENTENCE_MAX = 400
_ILL = (
    r"diabetes|diabetic|cancer|leuk[a]?emia|lymphoma|melanoma|tumou?r|hiv|aids|hepatitis(?: [abc])?"
    r"|herpes|chlamydia|gonorrh\w+|syphilis|hpv|stds?|stis?|depress\w+|bipolar|schizophreni\w+"
    r"|anorexi\w+|bulimi\w+|ptsd|ocd|adhd|autis\w+|"
    r"asperger\w*|epilep\w+|seizures?|lupus|multiple sclerosis|parkinson\w*|alzheimer\w*|dementia"
    r"|crohn\w*|colitis|endometriosis|pcos|fibromyalgia|arthritis|psoriasis|asthma|copd|migraines?"
    r"|anxiety|panic attacks?|insomnia|hypertension|"
    r"high blood pressure|kidney (?:disease|failure|stones?)|liver (?:disease|cirrhosis)|heart "
    r"(?:disease|failure|attack|condition)|stroke|thyroid|hypothyroid\w*|anemi\w+|celiac|ibs|eczema"
    r"|alcoholi\w+|addict\w*|eating disorder|"
    r"miscarriages?|abortions?|pregnan\w+|infertil\w+|chemo\w*|radiation|dialysis|transplant|biopsy"
    r"|mastectomy|hysterectomy|vasectomy|colonoscopy|surgery|c-section|concussion|covid|long covid"
    r"|tuberculosis|"
    r"diabetiker\w*|krebs|leukämie|brustkrebs|depression\w*|angststörung\w*|burn-?out|epilepsie"
    r"|asthma|rheuma|migräne|schlaganfall|herzinfarkt|bluthochdruck|schwanger\w*|fehlgeburt"
    r"|chemotherapie|essstörung|süchtig|bandscheibenvorfall|"
    r"diabète|diabétique|leucémie|sida|vih|dépressi\w+|épilepsie|asthme|migraines?|hypertension"
    r"|enceinte|fausse couche|avortement|chimio\w*|anorexie|schizophrénie|sclérose en plaques"
    r"|anxiété|"
    r"cáncer|leucemia|sida|vih|depresión|ansiedad|epilepsia|asma|migrañas?|hipertensión"
    r"|embarazad[oa]|aborto|quimio\w*|anorexia|esquizofrenia|diabétic[oa]|artritis|lupus"
)
_DRUG = (
    r"metformin|insulin|sertraline|zoloft|prozac|fluoxetine|lexapro|escitalopram|citalopram"
    r"|wellbutrin|bupropion|lithium|xanax|alprazolam|adderall|ritalin|methylphenidate|concerta"
    r"|warfarin|methadone|suboxone|oxycodone|morphine|"
    r"prednisone|methotrexate|humira|ozempic|semaglutide|levothyroxine|lisinopril|amlodipine"
    r"|atorvastatin|statins?|antidepressants?|antipsychotics?|antibiotics|birth control|the pill"
    r"|beta[- ]blockers?|blood thinners?|hormones?|testosterone|estrogen|"
    r"prep|antidepressiva|insulin|l-thyroxin|ramipril|antidépresseurs?|insuline|lévothyrox"
    r"|antidepresivos?|insulina|metformina|metformine"
)
_AWAY = (
    r"(?:what|why|how|if|whether|wondering|asking|curious|looking|writing|reading|learning|studying"
    r"|about|research\w*|interested|worried|"
    r"question|know|was|wie|warum|ob|frage|über|pourquoi|comment|si|sur|curieu\w+|qué|cómo|por|sobre"
    r"|curiosidad|pregunta)\b"
)
_BLOCKED = re.compile(  # what befalls anybody's log-in or card
    r"^(?:'s|,| (?:was|is|has been|got|were|keeps? getting|gets|seems|ist|wurde|war|est|a été|es"
    r"|está|fue)) (?:\w+ )?"
    r"(?:locked|blocked|hacked|suspended|disabled|deleted|expired|closed|not|gone|stuck|slow"
    r"|wrong|declined|rejected|limited"
    r"|down|invalid|missing|logged|compromised|gesperrt|gehackt|bloqué\w*|piraté\w*|suspendu\w*"
    r"|bloquead\w+|hackead\w+)\b"
)
_GAP = rf"(?: (?!{_AWAY})[\w'-]+){{0,6}}? "
_HAVE = re.compile(
    rf"\b(?:i|i'm|we)(?:'ve| have| had| do)?(?: just| recently| also| currently| been| always| only| "
    rf"still| now){{0,2}} (?:have|had|got|get|suffer\w*|live|living|struggl\w+|deal\w*|battl\w+"
    rf"|caught|contracted|developed|diagnosed|recover\w*|treated|tested|test|am|was|being|undergo\w*"
    rf"|need|scheduled|take|taking|"
    rf"prescribed|started|on)\b{_GAP}(?:{_ILL}|{_DRUG})\b{_OTHER}"
    rf"|\bi'm (?:(?!{_AWAY})[\w-]+ ){{0,5}}(?:{_ILL}|{_DRUG})\b{_OTHER}|\b(?:my|our) (?:\w+ "
    rf"){{0,2}}(?:doctor|gp|therapist|psychiatrist|oncologist|surgeon|dermatologist|cardiologist"
    rf"|gyn\w+|midwife|neurologist|specialist|consultant|nurse) (?:\w+ )?(?:said|says|told|thinks"
    rf"|found|prescribed|diagnosed|put|suspects|wants|recommended|gave|confirmed|increased"
    rf"|switched)\b"
    rf"|\bmy (?:\w+ ){{0,2}}(?:son|daughter|wife|husband|partner|mother|mom|mum|father|dad|brother"
    rf"|sister|child|baby|girlfriend|boyfriend)(?:'s)? (?:has|had|have|was|is|suffers|got"
    rf"|takes)\b[^.?!\n]{{0,32}}\b(?:{_ILL}|{_DRUG}|diagnosed|in hospital|in rehab)\b"
    r"|\bi (?:see|am seeing|'m seeing|have been seeing|started seeing) (?:a |my )?(?:therapist"
    r"|psychiatrist|psychologist|oncologist|counsel\w+)\b|\bi(?:'ve| have)? (?:been "
    r")?(?:hospitali[sz]ed|relapsed|overdosed|miscarried)\b|\bi(?:'m| am) in (?:remission|recovery"
    r"|rehab|therapy|chemo|hospital)\b"
    rf"|\bmy (?:\w+ )?(?:hiv|cancer|diabetes|epilepsy|bipolar\w*|schizophrenia|chemo\w*|depression"
    rf"|abortion|miscarriage|herpes|addiction|dialysis|antidepressants?|pregnancy|ms|lupus|ptsd|ocd"
    rf"|crohn's|endometriosis|{_DRUG})\b(?! ?(?:model|dataset|tutorial|risk|calculator))"
    rf"|\b(?:ich|wir) (?:habe|hatte|bekomme|leide|nehme|bin|war|wurde|musste|muss"
    rf"|brauche)\b{_GAP}(?:{_ILL}|{_DRUG}|diagnostiziert|operiert|krankgeschrieben|in therapie"
    rf"|allergisch)\b{_OTHER}|\bmein\w{{0,2}} (?:\w+ )?(?:arzt|ärztin|therapeut\w*|psychiater\w*|hausarzt"
    rf"|frauenarzt) (?:\w+ )?(?:hat|sagt|sagte|meint|meinte|verschr\w+)\b"
    rf"|\b(?:j'ai|je|on m'a|j'étais)\b{_GAP}(?:{_ILL}|{_DRUG}|allergique|diagnostiqué\w*"
    rf"|hospitalisée?|opérée?)\b{_OTHER}|\bmon (?:\w+ )?(?:médecin|psychiatre|psy|docteur|gynécologue) "
    rf"(?:\w+ )?(?:m'a|dit|a dit|pense)"
    rf"|\b(?:tengo|tuve|padezco|sufro|soy|estoy|tomo|me (?:han|ha|diagnosticaron|operaron|recetaron"
    rf"|detectaron))\b{_GAP}(?:{_ILL}|{_DRUG}|alérgic[oa]|diagnosticado|ingresad[oa])\b|\bmi (?:\w+ "
    rf")?(?:médic[oa]|psiquiatra|psicólog[oa]|ginecólog[oa]) (?:\w+ )?(?:me|dice|dijo|cree)"
)
_END = re.compile(r"[.?!\n](?=\s|$)")
_STATEMENTS_MAX = 256


def tells(read: Text, start: int, end: int) -> bool:
    """Whether the possessive at this place begins a fact of that kind."""
    found = _TOLD.match(read.lower, end)
    if found is None:
        return False
    rest = found["rest"]
    said = _sentence(read, start)
    if _BLOCKED.match(rest) is not None and not any(map(str.isdigit, rest)):
        return False
    figure = any(map(str.isdigit, rest[:40])) or _AMOUNT.search(said) is not None
    if _GENERAL.match(said) is not None:
        return figure and not said.startswith(("how to", "how do", "how can"))
    return figure or _VERB.match(rest) is not None or rest.startswith(("'s ", ":"))


def states(read: Text) -> bool:
    """Whether a form of words tells a fact of that kind."""
    for expression in (_STATED, _HAVE):
        for count, found in enumerate(expression.finditer(read.lower)):
            if count >= _STATEMENTS_MAX:
                return True
            said = _sentence(read, found.start())
            if _GENERAL.match(said) is None or any(map(str.isdigit, said + found[0])):
                return True
    return False


def _sentence(read: Text, place: int) -> str:
    """What stands before a place in its sentence."""
    before = read.before(place, _SENTENCE_MAX)
    ends = [end.end() for end in _END.finditer(before)]
    return (before[ends[-1] :] if ends else before).lstrip() + read.lower[place : place + 8]
