"""Governance questions and questions about the node's own records, and their slots.

Rules of this file:
- Slot names are fixed: ``proposal, metric, topic, when``; values are canonical text or None.
- A proposal's number is text without leading zeros, sign or separators ("#0123" is "123"), or a prefixed id
  ("nip-4"). Two numbers in one question are no single proposal.
- ``key`` is given only when the question is about one proposal and holds nothing else that the answer could
  depend on: equal keys mean that the same answer serves. A word too many costs a slot hit, never a wrong one.
- Public politics, wedding proposals and business proposals are not this community's governance.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from node.core.model import Slots
from node.language import numbers
from node.language.reading import Reading, word_list

TEXT_CHARS = 600
_TOPIC_WORDS = 8

_NOUN = (
    r"(?:proposals?|prop|propositions?|motions?|resolutions?|referend(?:um|a)|propuestas?"
    r"|propostas?|proposte|vorschlags?|vorschlage"
    r"|antrags?|antrage|beschluss|mocion|resolucion|motionsantrag|предложени[а-я]{1,2}"
    r"|резолюци[а-я]{1,2}|提案|议案|議案|決議)"
)
_SIGN = (
    r"\.?(?:\s*(?:number|numbers|no\.?|nr\.?|num\.?|numero|nummer|numéro|id|№|n°|номер|第|号|:|#|\()){0,3}\s*"
)
_DIGITS = r"(\d{1,3}(?:,\d{3})+|\d{1,12})(?![\d%]|[.,]\d|-\d)"

_NUMBERED = re.compile(r"(?<![^\W_])" + _NOUN + _SIGN + r"#?\s*" + _DIGITS)
_NUMBERED_BACK = re.compile(r"(?:#|第)\s*" + _DIGITS + r"\s*(?:号|号の|番の?|条)?\s*" + _NOUN)
_ORDINAL = re.compile(r"(?<!\d)(\d{1,6})(?:st|nd|rd|th|e|a|o|\.) " + _NOUN)
_ALSO = re.compile(
    r"\s*(?:,|and|&|or|vs\.?|versus|to|y|und|et|e|-|и|と|和)\s*(?:" + _NOUN + r")?" + _SIGN + r"#?\s*\d"
)
_PREFIXED = re.compile(r"(?<![^\W_])(nip)[\s-]?#?0*(\d{1,6})(?![\d.])")
_STANDARD = re.compile(r"(?<![^\W_])(eip|bip|sip|aip|zip|fip|cip|pip|uip|mip)[\s-]?#?0*(\d{1,6})(?![\d.])")
_WORDED = re.compile(r"(?<![^\W_])(?:proposal|motion|resolution)(?: number| no)? ((?:[a-z]+[ -]?){1,8})")

_UNITS = numbers.below(20, "en")
_TENS = numbers.below(100, "en", start=20)

# Proposals that nobody votes on here.
_OTHER_PROPOSALS = re.compile(
    r"\b(?:marriage|wedding|business|project|research|grant|thesis|dissertation|phd|book|film"
    r"|indecent|modest|sales|client"
    r"|design|website|marketing|job|academic|sponsorship|funding|technical|consulting|commercial"
    r"|engagement|romantic|value"
    r"|unique selling|course|event|freelance|contract|budget|vendor|solicited) propos(?:al|als|ition)s?\b"
    r"|\bpropos(?:al|als|ition)s? (?:of|for|in|to) (?:an? |the |my |your |his |her |their )?(?:\w+ )?"
    r"(?:marriage"
    r"|wedding|thesis|theses|dissertation|phd|doctorate|master's|masters|essay|paper|book|novel|film"
    r"|client|customer|girlfriend|boyfriend|publisher|professor|startup)\b"
    r"|\bproposal (?:ideas?|templates?|writing|letters?|rings?|examples?|formats?|speech|planner"
    r"|software|movie|samples?|songs?)\b"
    r"|\bproposals? (?:2009|film|cast|sandra)\b|\b(?:write|draft|make|prepare|create|compose"
    r"|structure|format|pitch) (?:\w+ ){0,3}propos(?:al|als)\b"
    r"|\bpropose (?:a toast|to|marriage)\b|\bnewspaper\b"
)
# Politics at large: general knowledge, unless the question says "we" or "our" or names a numbered proposal.
_PUBLIC_POLITICS = re.compile(
    r"\b(?:trump|biden|obama|clinton|reagan|bush|kennedy|nixon|lincoln|washington|merkel|macron"
    r"|putin|hitler|churchill|brexit|congress|senate|senators?|parliament"
    r"|supreme court|presidents?|presidential|elections?|electoral|republicans?|democrats?"
    r"|democratic|conservatives?|labour|california|scotland|scottish"
    r"|catalonia|quebec|ireland|greece|switzerland|swiss|uk|u\.s|usa|us|united|states|un|eu"
    r"|european|security council|united nations|city council|nicaea|trent|war"
    r"|world|bundestag|roman|rome|women|suffrage|right to vote|constitutional|constitution|oscars?"
    r"|grammys?|eurovision|mvp|hall of fame|ivermectin|nobel|academy|jury|court|country"
    r"|countries|nation|nations|government|prime minister|mayor|governor|king|queen|pope|fifa"
    r"|olympic|nba|nfl)\b"
)
_HOW_TO = re.compile(
    r"\b(?:how (?:do|to|can|should|does|would|could) (?:i|you|we|one|a|an|someone|people|voting"
    r"|governance)\b|how to|what is (?:a|an|quorum|governance|voting|the (?:meaning|definition"
    r"|purpose|role|difference))\b|what are (?:the )?(?:benefits|types|advantages)"
    r"|define|definition|meaning|explain (?:how|what|why)? ?(?:dao|governance|voting|quorum"
    r"|quadratic)|difference between|why do|history of (?!(?:our|the) (?:proposals?|votes?|dao"
    r"|council|treasury))|write|draft|compose|invented|theory|poem|song|joke|movie|film|book)\b"
)

_BODY = (
    r"(?:we|our|us|dao|council|committee|community|board|members?|delegates?|team|network|swarm"
    r"|neuroswarm|assembly|stewards?|voters|token holders|holders|foundation)"
)
_DECIDE = (
    r"(?:decided?|deciding|vote[ds]?|voting|approved?|agreed?|rejected?|passe?d?|adopt(?:ed)?"
    r"|ratif(?:y|ied)|choose|chose|chosen|resolved?|meet|met|convened?|conclude[d]?|settled?"
    r"|discuss(?:ed)?|elected?"
    r"|endorsed?|allocated?|fund(?:ed)?|spen[dt])"
)
_RECORD = (
    r"(?:votes?|voting|ballots?|referendum|proposals?|meetings?|council|committee|board|governance"
    r"|assembly|resolutions?|motions?|decisions?|quorum|treasury|grants?|agm|session)"
)


@dataclass(frozen=True, slots=True)
class _Cue:
    name: str
    pattern: re.Pattern[str]
    own: bool = False
    """Says whose governance it is, so that the names of public politics do not matter."""


def _cue(name: str, pattern: str, *, own: bool = False) -> _Cue:
    return _Cue(name, re.compile(pattern), own)


_CUES: tuple[_Cue, ...] = (
    _cue(
        "asks what this community decided",
        r"\b(?:what|which|any|all) (?:\w+ ){0,2}?(?:decisions?|resolutions?) (?:(?:did|have|has"
        r"|do) (?:we|our \w+"
        r"|the (?:dao|council|committee|community|board|team|members))|(?:were|was|got|have been|has been)"
        r" (?:made|taken|passed|adopted|reached) (?:at|in|during|by) (?:the|our|last))\b"
        r"|\bwhat (?:is|was|are|were|else is) (?:being |we |currently |up |to be ){1,2}(?:voted on"
        r"|voting on|for vote)\b"
        r"|\bhow many (?:of us|(?:\w+ )?(?:members|delegates|stewards|token holders|validators))"
        r" (?:have |has )?(?:voted|abstained|approved|rejected)\b"
        r"|\bour (?:\w+ )?(?:decisions?|votes?|resolutions?)\b|\b(?:did|have|has|had|do|was|were)"
        r" (?:the |our |any )?" + _BODY + r" (?:\w+ ){0,3}?" + _DECIDE + r"\b"
        r"|\b(?:what|how|who|which|when|why|if|whether) (?:\w+ ){0,4}?(?:we|our \w+|the (?:dao|council"
        r"|committee|community|board|members|delegates|stewards)) (?:\w+ ){0,2}?" + _DECIDE + r"\b"
        r"|\b(?:approved|rejected|decided|ratified|adopted|voted|passed|agreed) (?:\w+ ){0,3}?by"
        r" (?:the |our )?(?:dao|council|committee|community|board|members|delegates|us|assembly"
        r"|stewards)\b",
        own=True,
    ),
    _cue(
        "asks for the record of a vote or a meeting",
        r"\b(?:say|said|agree|agreed|decide|decided|discuss|discussed|mention|mentioned|propose|proposed|promised?)"
        r" (?:\w+ ){0,6}?(?:at|in|during) (?:the|our|last|today's|yesterday's) (?:\w+ ){0,2}?(?:meeting"
        r"|council"
        r"|call|session|assembly|agm)\b|\b(?:vote|ballot) (?:number |no )?\d{1,6} (?:results?|outcome"
        r"|tally)\b"
        r"|\bdid (?:the |our )?(?:motion|resolution|referendum|proposal|ballot|vote) (?:\w+"
        r" ){0,6}?(?:pass|fail|succeed|carry|go through)\b|\b(?:decided|agreed|discussed|voted on|said"
        r"|approved|resolved) (?:at|in|during) (?:the |our )?(?:\w+ ){0,2}?(?:meeting|council|call"
        r"|session|assembly|agm)\b|\baccording to the (?:\w+ )?(?:bylaws|charter|handbook|statutes"
        r"|minutes)\b"
        r"|\b(?:outcomes?|results?|tally|minutes|record|records|decisions?|resolutions?|summary|recap"
        r"|transcript|notes|log|logs|agenda|protocol|turnout|status)"
        r" (?:of|from|on|for|at|in) (?:\w+ ){0,4}?(?:votes?|voting|ballots?|meetings?|council"
        r"|committee|assembly|referendum|proposals?|governance|motions?|agm|treasury)\b"
        r"|\b(?:meeting|council|committee|board|governance|assembly|voting|vote|treasury) (?:minutes"
        r"|results?|outcomes?|records?|decisions?|history|logs?|notes|resolutions?|reports?|archive)\b"
        r"|\bminutes (?:of|from) (?:\w+ ){0,4}(?:meeting|council|call|session)\b"
        r"|\b(?:was|is|has|have|were|had|will) there (?:(?:ever|already|been|be|once|yet|recently) ){0,3}"
        r"(?:a|an|any|another|some) (?:\w+ )?(?:votes?|ballots?|motions?|resolutions?|decisions?|proposals?)"
        r" (?:on|about|to|for|against|regarding|concerning|whether)\b",
    ),
    _cue(
        "asks for earlier proposals or decisions",
        r"\b(?:list|show)(?: me| us)?(?: all| our| the| every| past){0,2} decisions\b"
        r"|\bwhat (?:was|were|has been|have been|got) (?:decided|agreed|resolved|voted|approved)"
        r" (?:on |upon )?(?:regarding|about|on|concerning|with regard to)\b|"
        r"\b(?:previous|past|last|earlier|prior|old|recent|latest|former|pending|active|open|passed"
        r"|rejected|failed|approved|executed|all|current|first|most recent|which|what|any|how many"
        r"|list|show|new|upcoming)"
        r" (?:\w+ ){0,2}?(?:proposals|propositions|governance decisions|resolutions|motions|referenda)\b"
        r"|\b(?:previous|past|last|earlier|prior|old|recent|latest|most recent) (?:\w+ )?(?:decisions?"
        r"|votes?|proposal|ballot|referendum|motion|resolution|council meeting|governance (?:call"
        r"|meeting|vote))\b",
    ),
    _cue(
        "asks about a proposal",
        r"\b(?:the|this|that|our|which|whose) (?:\w+ ){0,3}?proposals?\b|\bproposals? (?:to|about|on"
        r"|for|regarding|concerning|from|by|that|of)\b|\bproposals?$"
        r"|\b(?:vote|voted|votes|voting) (?:for|against|on|in favou?r of|to) (?:\w+"
        r" ){0,5}?(?:proposals?|fees?|treasury|budget|grants?|motion|quorum|upgrade|dao|council)\b"
        r"|\b(?:outcome|result|results) of (?:the )?(?:\w+ ){0,2}?vote\b|\bhow did (?:\w+ ){1,3}?vote"
        r" on\b|\bwho (?:voted|abstained|vetoed|seconded)\b"
        r"|\bwho (?:proposed|submitted|suggested) (?:the|a|this|that|our) (?:\w+ ){0,2}?(?:treasury"
        r"|budget|fees?"
        r"|quorum|grants?|amendment|motion|resolution|upgrade|reward|rewards)\b|\bquorum (?:reached|met"
        r"|in|for|was|last)\b"
        r"|\b(?:was|did|is) (?:the |there )?(?:\w+ )?quorum\b"
        r"|\b(?:governance|treasury|dao) (?:\w+ )?(?:history|proposals?|decisions?|votes?|log"
        r"|records?)\b|\b(?:amendment|change) to (?:our|the) (?:bylaws|charter|statutes)\b",
    ),
    _cue(
        "asks for the node's own records or documents",
        r"\b(?:according to|in|from|per|search|check|find in|based on) (?:our|my|these|the (?:loaded"
        r"|uploaded|ingested|attached|stored|provided|company|team|internal|employee)) (?:\w+"
        r" ){0,2}?(?:documents?|docs|files?|handbook|policy|policies"
        r"|manual|reports?|records?|minutes|notes|knowledge base|wiki|charter|bylaws|constitution"
        r"|contract|archive|pdf|pdfs|guidelines?|runbook|statutes)\b"
        r"|\b(?:does|do|did) (?:our|my|these) (?:\w+ ){0,2}?(?:documents?|docs|files?|handbook|policy"
        r"|policies|manual|reports?|minutes|notes|wiki|charter|bylaws|constitution|contract|pdfs?"
        r"|guidelines?|runbook|statutes) (?:say|mention|state|require|allow|specify|cover|tell|contain"
        r"|include|forbid|permit)"
        r"|\b(?:according to|what does|what do|does|do) the (?:\w+ ){0,2}?(?:documents?|docs|handbook"
        r"|policy|minutes|manual|bylaws|charter|runbook|statutes|knowledge base|meeting notes) (?:say"
        r"|says|mention|state|states|require|requires|allow|specify|cover|tell|contain|include|$)"
        r"|^(?:so |and |hi |hello )?(?:according to|based on|as per|per|going by) (?:the|your|those|that)"
        r" (?:(?:employee|staff|team|company|travel|expense|internal|house|safety|meeting|project) )?"
        r"(?:documents?|docs|files?|handbook|polic(?:y|ies)|records?|minutes|notes|knowledge base|wiki|bylaws"
        r"|charter|contract|guidelines?|runbook|statutes|archive)\b"
        r"|\b(?:according to|based on|as per) (?:the|your|those|that) (?:documents?|docs|files?|handbook"
        r"|records?"
        r"|minutes|notes|knowledge base|wiki|bylaws|charter|contract|runbook|statutes)$"
        r"|\b(?:uploaded|ingested|loaded|attached) (?:\w+ )?(?:documents?|files?|pdfs?|report|notes)\b"
        r"|\bour (?:\w+ ){0,2}?(?:policy|handbook|bylaws|charter|statutes|minutes|guidelines|records)\b"
        r"|\b(?:documents?|docs|files?|pdfs?|contract|report|notes|minutes|policy|handbook|paper|manual)"
        r" (?:that |which )?(?:i|we) (?:have |had |just |already )?(?:uploaded?|ingest(?:ed)?|loaded"
        r"|shared|attached"
        r"|added|sent you|gave you|provided)\b"
        r"|\b(?:documents?|files?|pdfs?) (?:have|did) (?:i|we) (?:upload|ingest|load|add|attach)(?:ed)?\b"
        r"|\bwhat did you (?:say|tell me|answer|reply)\b|\bwhat have (?:i|we) (?:asked|said|talked)\b"
        r"|\bwhat did (?:i|we) (?:ask|say|tell|talk|discuss|write|note)\b|\b(?:our|my) (?:previous"
        r"|last|earlier|past) (?:\w+ )?(?:conversations?|questions?|discussions?|chats?|answers?)\b"
        r"|\bdid i (?:already )?(?:ask|mention|tell)\b"
        r"|\bhave you (?:already )?(?:stored|cached|saved|kept|remembered|recorded)\b"
        r"|\b(?:answers?|records?|entries) (?:have |did |do )?you (?:store|cache|save|keep|remember)d?\b"
        r"|\b(?:questions?|things?) (?:that )?(?:i|we) (?:have |had |just |already )?asked\b",
        own=True,
    ),
    _cue(
        "asks about governance (other language)",
        r"\b(?:(?:que|cuando|como|por que) (?:se )?(?:decidimos|votamos|aprobamos|acordamos|decidio"
        r"|aprobo|voto)|(?:la|de la|las|ultima|ultimas) votacion(?:es)?|acta de la|actas de|decisiones"
        r" anteriores|propuestas (?:anteriores|aprobadas|sobre|de|rechazadas|activas)|la propuesta"
        r" (?:de|sobre|para)|resultado de la votacion|consejo (?:decidio|aprobo)"
        r"|(?:segun|dicen|dice|en) (?:los|nuestros|mis|las|nuestras|el|nuestro)"
        r" (?:documentos|archivos subidos|estatutos|actas|acta|reglamento interno|manual interno)"
        r"|(?:laut|gemass)(?: (?:den|der|dem|unser\w*|mein\w*))? (?:unterlagen|dokument\w*|satzung"
        r"|statuten|protokoll\w*|richtlinie\w*|handbuch|akten)"
        r"|steht (?:\w+ )?in (?:den|der|dem|unser\w*|mein\w*) (?:unterlagen|dokument\w*|satzung|statuten"
        r"|protokoll\w*|richtlinie\w*|handbuch|akten)"
        r"|in (?:unser\w*|mein\w*) (?:unterlagen|dokumenten|satzung|statuten|protokollen|akten)"
        r"|(?:selon|d' apres|dans|disent) (?:les|nos|mes|notre) (?:documents|statuts"
        r"|comptes rendus|archives|reglement)"
        r"|(?:secondo|dicono) (?:i|gli|i nostri|lo) (?:documenti|statuto|verbali|archivi)"
        r"|nei (?:nostri|miei) (?:documenti|verbali)|(?:segundo|conforme|dizem) (?:os|nossos|os nossos|o)"
        r" (?:documentos|estatutos|arquivos|estatuto)|de acordo com os (?:nossos )?documentos"
        r"|nos (?:nossos|meus) documentos|(?:qu' )?on a (?:\w+ )?(?:decide|vote|approuve|adopte)"
        r"|haben wir (?:\w+ ){0,5}?(?:entschieden|beschlossen|abgestimmt|vereinbart)|wurde (?:\w+"
        r" ){0,5}?(?:beschlossen|abgestimmt|entschieden)|hat der (?:rat|vorstand) (?:\w+"
        r" ){0,4}?(?:beschlossen|entschieden)|abstimmung(?:en|sergebnis\w*)?|protokoll (?:der|des|von)"
        r"|(?:fruhere|vergangene|letzte)\w* (?:entscheidungen|beschlusse|vorschlage|sitzung"
        r"|abstimmung\w*|beschluss|vorschlag)|der vorschlag (?:zu|zur|uber|fur)|ergebnis der abstimmung"
        r"|avons-nous (?:decide|vote|approuve)|nous avons (?:decide|vote)|a-t-on (?:decide|vote)"
        r"|(?:resultat|issue) du vote|compte rendu|compte-rendu|proces-verbal|(?:decisions"
        r"|propositions|votes) (?:precedente?s|passee?s|anterieure?s|adoptee?s)|la proposition (?:de"
        r"|sur|pour)|derniere? (?:vote|reunion|decision|proposition|scrutin)|le conseil a (?:decide"
        r"|vote)"
        r"|abbiamo (?:deciso|votato|approvato)|(?:risultato|esito) (?:della|del) (?:votazione|voto)"
        r"|verbale (?:della|del)|decisioni precedenti|proposte (?:precedenti|approvate|su)|la proposta"
        r" (?:di|su|per)|ultima (?:votazione|riunione|proposta)"
        r"|(?:decidimos|aprovamos) (?:sobre|a|o)|resultado da votacao|ata da|atas da|decisoes"
        r" anteriores|propostas (?:anteriores|aprovadas|sobre)|a proposta (?:de|sobre|para)|ultima"
        r" (?:reuniao|votacao))\b"
        r"|согласно (?:нашим |моим |загруженным )?документ|в (?:наших|моих|загруженных) (?:документ|файл)"
        r"|(?:資料|文書|ドキュメント|規約|議事録)(?:によると|によれば|には|では)"
        r"|根据(?:我们的?|上传的?|我的)?(?:文件|文档|资料|章程)|(?:文件|文档|资料|章程)(?:里|中|上)(?:说|写|规定)"
        r"|голосовани|мы решили|решили мы|было решено|протокол(?:ы)? (?:собрания|заседания|совета"
        r"|последн)|решени[ея] совета|предыдущи[ех] (?:решени|предложени)|последн(?:ее|ие|его)"
        r" (?:предложени|решени|заседани)"
        r"|提案(?!書の書き方)|投票結果|投票の結果|議事録|決定事項|可決|否決|会议记录|會議記錄|投票结果"
        r"|表决|上次会议|我们(?:决定|投票)|决议|议案",
        own=True,
    ),
)

_METRICS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("quorum", re.compile(r"\b(?:quorum|turnout|participation|quorate|beteiligung|участие)\b|кворум|定足数")),
    (
        "author",
        re.compile(
            r"\b(?:who (?:proposed|wrote|authored|submitted|sponsored|made|created|introduced|drafted"
            r"|put forward|is behind|was behind)|authors?|proposer|sponsor|by whom|submitted by"
            r"|proposed by|written by|autor|auteur|autore|verfasser|quien (?:propuso|escribio"
            r"|presento)|wer hat (?:\w+ ){0,4}(?:vorgeschlagen|eingereicht|geschrieben)|qui a"
            r" (?:propose|ecrit|redige|soumis))\b|кто (?:предложил|автор)|автор|提案者|作者"
        ),
    ),
    ("result", re.compile(r"\b(?:results?|outcomes?)\b")),  # the plain words before what was voted on
    (
        "votes",
        re.compile(
            r"\b(?:who (?:voted|abstained|vetoed|supported|opposed)|votes?|voted|voters|tally|how many"
            r" (?:people |members )?(?:voted|abstained|supported|opposed)|votos?|stimmen|voix|voti"
            r"|abstained|in favou?r|vote count)\b|голосо[вл]|голоса|得票|票数"
        ),
    ),
    (
        "amount",
        re.compile(
            r"\b(?:how much|amount|budget|cost|costs|funding|funds|money|requested|ask for|price tag"
            r"|cuanto (?:pide|cuesta)|importe|betrag|wie ?viel geld|combien|montant|importo|valor)\b"
            r"|сколько стоит|сумма|金額|金额"
        ),
    ),
    (
        "date",
        re.compile(
            r"\b(?:when|date|dates|what day|deadline|which day|cuando|fecha|wann|datum|quand|quando"
            r"|data)\b|когда|いつ|什么时候|何时"
        ),
    ),
    (
        "status",
        re.compile(
            r"\b(?:status|state|active|still open|pending|closed|ongoing|live|estado|stand|statut"
            r"|stato|phase|stage|executed|implemented|in force)\b|статус|状態|状态"
        ),
    ),
    (
        "result",
        re.compile(
            r"\b(?:result|results|outcome|pass|passed|passes|fail|failed|approved?|accept|accepted"
            r"|reject|rejected|succeed|succeeded|win|won|lose|lost|go through|went through|carried"
            r"|defeated|decided|decision|ratified|adopted|resultado|ergebnis|resultat|risultato|esito"
            r"|issue|aprobada|aprobo|aprobaron|angenommen|abgelehnt|adoptee?|approvata|aprovada"
            r"|rechazada|rejetee)\b|результат|принят|отклон|прошло|結果|可決|否決|结果|通过"
        ),
    ),
    (
        "summary",
        re.compile(
            r"\b(?:summary|summari[sz]e|explain|about|details?|describe|overview|contents?|say|said"
            r"|text|resumen|resume|zusammenfassung|fasse|riassunto|resumo|tl dr|tldr|recap|trata"
            r"|handelt|erklare?|explica|explique|spiega)\b|о ч[её]м|суть|расскажи|объясни|概要|内容|要約|介绍"
        ),
    ),
)
_PLAIN_METRICS = frozenset({"summary"})

# Words that carry no condition of their own once the number and the metric are read.
_FRAME = frozenset(
    word_list(
        "what was is are were the a an of for on in about tell me us show give please can could you"
        " do did does know i want need to"
        " proposed proposal proposals prop proposition motion resolution referendum number no nr num"
        " id result results outcome summary summarize"
        " summarise explain describe details detail content contents text say said all it that its"
        " there with who when date status state author proposer"
        " quorum how many much votes vote tally amount budget get got have has been be pass passed"
        " and s status' would like find look up hi hello"
        " que fue es la el los las de propuesta numero cual resultado sobre del dime cuentame se"
        " trata paso con una un"
        " was ist war der die das vorschlag antrag nummer ergebnis von des zu uber wurde worum ging"
        " es bei geht"
        " qu' quoi est etait c' ce la le proposition etait-ce que quelle quel resultat du sur resume"
        " etait-elle"
        " cosa era che proposta risultato della il cos' o foi a qual era resultado da"
    )
)
_STOP = _FRAME | frozenset(
    word_list(
        "we our us council committee community dao board members member decided decide decision"
        " decisions meeting meetings minutes last previous past latest"
        " recent earlier prior most which why whether if by from at as into this these those my your"
        " their his her not or and but so just any some"
        " voted voting outcome outcomes record records history governance against favor favour list"
        " open active"
        " hemos decidimos haben wir entschieden beschlossen avons-nous decide abbiamo deciso"
    )
)

_ISO = re.compile(r"\b(\d{4}-\d{2}-\d{2})\b")
_MONTHS = {
    name: at + 1
    for at, name in enumerate(
        word_list("january february march april may june july august september october november december")
    )
}
_MONTH_YEAR = re.compile(r"\b(" + "|".join(_MONTHS) + r")(?: of)? (\d{4})\b")
_YEAR = re.compile(r"\b(?:in|of|from|since|during|en|im|jahr) ((?:19|20)\d{2})\b")
_RELATIVE = re.compile(
    r"\b(yesterday|today|tomorrow|(?:last|this|next) (?:week|month|quarter|year|night|season))\b"
)
_LAST = re.compile(
    r"\b(?:last|latest|most recent|previous(?! \w+s\b)|newest|ultim[oa]s?|letzte[rnsm]?"
    r"|derniere?s?|neueste[rnsm]?)\b|последн|最新|前回|上次|最近"
)


@dataclass(frozen=True, slots=True)
class Governance:
    """A question about records: its slots, its key (None unless an equal key means an equal answer), why."""

    slots: Slots
    key: str | None
    reason: str
    numbered: bool


def recognise(reading: Reading) -> Governance | None:
    """Read a governance question; None when the text is not one. Total and bounded."""
    plain, flat = _spelt(reading.plain[:TEXT_CHARS]), _spelt(reading.flat[:TEXT_CHARS])
    numbers, spans = _numbers(plain)
    if numbers and not _OTHER_PROPOSALS.search(flat):
        return _numbered(plain, flat, numbers, spans)
    if _OTHER_PROPOSALS.search(flat) or _HOW_TO.search(flat):
        return None
    public = _PUBLIC_POLITICS.search(flat) is not None
    target = plain if reading.script not in ("latin", "none") else flat
    for cue in _CUES:
        if cue.pattern.search(target) and (cue.own or not public):
            slots: Slots = {
                "proposal": None,
                "metric": _metric(target),
                "topic": _topic(flat),
                "when": _when(plain),
            }
            return Governance(slots, None, cue.name, numbered=False)
    return None


def _one_slip(word: str) -> frozenset[str]:
    """``word`` with one letter added, missing, wrong or two swapped."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    cuts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    slips = {head + tail[1:] for head, tail in cuts}
    slips |= {head + tail[1:2] + tail[:1] + tail[2:] for head, tail in cuts}
    slips |= {head + letter + tail[drop:] for head, tail in cuts for letter in letters for drop in (0, 1)}
    return frozenset(slips - {word})


_PROPOSAL_SLIPS = _one_slip("proposal") - {"proposals"}
_MAYBE_PROPOSAL = re.compile(r"\b[a-z]{7,10}(?=\b|\d)")


def _spelt(text: str) -> str:
    """ "propsal 12": the word that everything here hangs on, with one letter amiss."""
    return _MAYBE_PROPOSAL.sub(
        lambda match: (
            "proposal"
            if match[0] in _PROPOSAL_SLIPS
            else "proposals"
            if match[0].endswith("s") and match[0][:-1] in _PROPOSAL_SLIPS
            else match[0]
        ),
        text,
    )


def _numbered(plain: str, flat: str, numbers: list[str], spans: list[tuple[int, int]]) -> Governance:
    rest = list(plain)
    for start, end in spans:
        rest[start:end] = " " * (end - start)
    without = "".join(rest)
    one = numbers[0] if len(set(numbers)) == 1 else None
    metric = _metric(without)
    when = _when(without)
    topic = _topic(without) if one else _topic(flat)
    negated = re.search(
        r"\b(?:not|never|no longer|fail|failed|reject|rejected|against|nicht|pas|rechazada)\b", without
    )
    residue = [word for word in _content(without, _FRAME) if word not in ("", one)]
    slots: Slots = {"proposal": one, "metric": metric, "topic": topic, "when": when}
    key = None
    if one is not None and not residue and when is None and not negated and without.isascii():
        key = f"proposal:{one}" + (f":{metric}" if metric and metric not in _PLAIN_METRICS else "")
    return Governance(slots, key, "names a proposal by its number", numbered=True)


def _numbers(plain: str) -> tuple[list[str], list[tuple[int, int]]]:
    numbers: list[str] = []
    spans: list[tuple[int, int]] = []
    for pattern in (_NUMBERED, _NUMBERED_BACK, _ORDINAL):
        for match in pattern.finditer(plain):
            if any(start < match.end() and match.start() < end for start, end in spans):
                continue
            numbers.append(match.group(1).replace(",", "").lstrip("0") or "0")
            spans.append(match.span())
            if _ALSO.match(plain, match.end()) and not plain[match.end() :].lstrip().startswith("-"):
                numbers.append("several")
    patterns = [_PREFIXED]
    if not numbers and re.search(
        r"\b(?:proposals?|vote[ds]?|passed|approved|rejected|quorum|council)\b", plain
    ):
        patterns.append(_STANDARD)
    for pattern in patterns:
        for match in pattern.finditer(plain):
            numbers.append(f"{match.group(1)}-{match.group(2)}")
            spans.append(match.span())
    if not numbers:
        for match in _WORDED.finditer(plain):
            value = _worded(match.group(1))
            if value is not None:
                numbers.append(str(value[0]))
                spans.append((match.start(), match.start(1) + value[1]))
    return numbers, spans


def _worded(text: str) -> tuple[int, int] | None:
    """A number written in English words at the start of ``text``: its value and how many characters it
    takes."""
    total = 0
    part = 0
    end = 0
    seen = False
    for match in re.finditer(r"[a-z]+", text):
        word = match.group()
        if word in _UNITS:
            part += _UNITS[word]
        elif word in _TENS:
            part += _TENS[word]
        elif word == "hundred" and seen:
            part = (part or 1) * 100
        elif word == "thousand" and seen:
            total, part = total + (part or 1) * 1000, 0
        elif word == "and" and seen:
            continue
        else:
            break
        seen = True
        end = match.end()
    return (total + part, end) if seen else None


def _metric(text: str) -> str | None:
    return next((name for name, pattern in _METRICS if pattern.search(text)), None)


def _when(plain: str) -> str | None:
    if match := _ISO.search(plain):
        return match.group(1)
    if match := _MONTH_YEAR.search(plain):
        return f"{match.group(2)}-{_MONTHS[match.group(1)]:02d}"
    if match := _RELATIVE.search(plain):
        return match.group(1)
    if match := _YEAR.search(plain):
        return match.group(1)
    return "last" if _LAST.search(plain) else None


def _content(text: str, stop: frozenset[str]) -> list[str]:
    return [
        word for word in re.findall(r"[^\W_]+(?:[-'][^\W_]+)*", text) if word.removesuffix("'s") not in stop
    ]


def _topic(text: str) -> str | None:
    words = _content(text, _STOP)
    return " ".join(words[:_TOPIC_WORDS]) or None
