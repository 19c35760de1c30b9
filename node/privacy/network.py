"""E-mail addresses, also written out; IP and MAC addresses; log-ins in URLs.

Pure. Loopback addresses, networks (``/24``), gateways and well-known resolvers belong to nobody in
particular; private ones count where a port, a device, a log or an owner beside them makes them somebody's
machine; documentation addresses count only where somebody calls one theirs. Four numbers with dots are a
version, not an address, where a version's word stands before them or all four are small and no word says
address.
"""

from __future__ import annotations

import ipaddress
import re

from node.privacy.text import Text

_MAIL = re.compile(r"(?<![\w.+%-])[\w.+%'-]{1,64} ?@ ?([\w-]{1,63}(?:\.[\w-]{1,63}){1,6})")
_TOP = re.compile(r"(?:xn--[a-z0-9-]{2,59}|[^\W\d_]{2,24})$")
_NOT_TOP = frozenset(
    [
        "shape",
        "dot",
        "mean",
        "sum",
        "reshape",
        "transpose",
        "astype",
        "inv",
        "conj",
        "array",
        "js",
        "py",
        "ts",
        "rs",
        "jpg",
        "png",
        "html",
    ]
)
_CODE_HOSTS = frozenset(
    [
        "github.com",
        "gitlab.com",
        "bitbucket.org",
        "codeberg.org",
        "ssh.dev.azure.com",
        "git.sr.ht",
        "hf.co",
        "huggingface.co",
    ]
)
_SAMPLE_LOCAL = frozenset(
    [
        "user",
        "username",
        "name",
        "someone",
        "you",
        "your-name",
        "yourname",
        "your.name",
        "foo",
        "email",
        "example",
        "test",
    ]
)
_SAMPLE_HOST = re.compile(
    r"(?:example|domain|yourdomain|your-domain|email|mail|server|host)\.(?:com|org|net|tld)$"
)

_AT = re.compile(
    r" ?[(\[{<] ?(?:at|@|a|ät|arroba|arobase|chiocciola|klammeraffe|snail) ?[)\]}>] ?"
    r"| (?:at|arroba|arobase|chiocciola|klammeraffe|ät) |_at_|-at-| ?@ ?",
)
_DOT_WORDS = frozenset(["dot", "punkt", "punto", "point", "ponto"])
_DOTTED = re.compile(r"\w\.[^\W\d_]{2}|[(\[{<]\.[)\]}>]")
_LOCAL_BEFORE = re.compile(r"[\w.+-]{0,62}[^\W_]$")
_DOMAIN_AFTER = re.compile(
    r"[\w-]{1,63}(?:(?P<dot> ?[(\[{<] ?(?:dot|\.|punkt|punto|point|ponto) ?[)\]}>] ?"
    r"| (?:dot|punkt|punto|point|ponto) |_dot_|-dot-|\.)[\w-]{1,63}){1,4}"
)
_LAST = re.compile(r"[^\W\d_]{2,24}$")
_TOPS = frozenset(
    [
        "com",
        "org",
        "net",
        "edu",
        "gov",
        "mil",
        "info",
        "biz",
        "io",
        "dev",
        "app",
        "me",
        "ai",
        "co",
        "uk",
        "de",
        "at",
        "ch",
        "fr",
        "es",
        "it",
        "pt",
        "nl",
        "be",
        "lu",
        "ie",
        "eu",
        "us",
        "ca",
        "au",
        "nz",
        "in",
        "jp",
        "cn",
        "kr",
        "br",
        "mx",
        "ar",
        "cl",
        "se",
        "no",
        "fi",
        "dk",
        "pl",
        "cz",
        "sk",
        "hu",
        "ro",
        "bg",
        "gr",
        "ru",
        "ua",
        "tr",
        "il",
        "za",
        "xyz",
        "online",
        "email",
        "mail",
        "cloud",
        "tech",
        "test",
        "example",
    ]
)
_PROVIDERS = re.compile(
    r"(?:gmail|googlemail|yahoo|hotmail|outlook|live|icloud|me|aol|gmx|web|t-online|proton"
    r"|protonmail|posteo|mailbox|"
    r"fastmail|orange|free|laposte|wanadoo|libero|zoho|yandex|mail|qq|163|tutanota|hey|pm)\.[a-z.]{2,6}$"
)
_MAIL_WORDS = frozenset(
    [
        "email",
        "mail",
        "e-mail",
        "mailto",
        "reach",
        "contact",
        "write",
        "address",
        "inbox",
        "correo",
        "courriel",
        "mél",
        "schreib",
        "schreibe",
        "erreichbar",
        "erreichen",
        "escribe",
        "escríbeme",
        "contacto",
        "écrivez",
        "écrire",
        "contacter",
    ]
)

_V4 = re.compile(r"(?<![^\W_])(?<![\w.]\.)(?:\d{1,3}(?:\.|\[\.\]|\(\.\))){3}\d{1,3}(?![^\W_])(?!\.\d)")
_V4_HINT = re.compile(r"\d(?:\.|\[\.\]|\(\.\))\d{1,3}(?:\.|\[\.\]|\(\.\))\d")
_V4_IN_NAME = re.compile(  # ec2-3-80-12-34.compute…, host-81-2-69-142
    r"(?<![^\W_])(?:ec2|ip|host|static|dsl|dyn\w*|pool|cpe|c|client|user|broadband|cable|adsl|ppp)"
    r"-(\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3})(?![\w-])",
    re.IGNORECASE,
)
_V6_HINT = re.compile(r":[0-9a-fA-F]{0,4}:")
_V6 = re.compile(
    r"(?:(?<![\w:.])|(?<=[^\W_a-fA-F]:)|(?<=v6:))(?=[0-9a-fA-F])[0-9a-fA-F:]{2,39}"
    r"(?:(?<=:)(?:\d{1,3}\.){3}\d{1,3})?(?![\w:])"
)
_CIDR = re.compile(r" ?/ ?(\d{1,3})(?!\d)")
_ADDRESS_WORD = re.compile(
    r"\b(?:ips?|ipv[46]|address(?:es)?|adress[ea]n?|adresses?|adresse|dirección|direccion|indirizzo"
    r"|endereço|server|serveur|"
    r"servidor|host|ping(?:ed|ing)?|ssh|rdp|log(?:ged|s|in)?|connect\w*|traceroute|firewall|client"
    r"|router|dns|"
    r"nslookup|whois|vpn|bl?ock\w*|bann?ed|port|from|von|desde|depuis|gateway|user|visitor|machine"
    r"|node|peer)\b"
)
_VERSION_WORD = re.compile(
    r"(?:\b(?:versions?|ver|v|release[sd]?|build|firmware|driver|chrome|chromium|edge|update[ds]?"
    r"|upgrade[ds]?|patch|assembly|package|"
    r"nuget|sdk|kernel|section|chapter|figure|clause|article|paragraph|abschnitt|kapitel|oid|asn"
    r"|revision|java|jre|jdk|"
    r"ios|android|office|photoshop|acrobat|reader|flash|opera|vivaldi|brave|libreoffice|mysql|oracle"
    r"|minecraft)\b)[^\w]{0,3}(?:(?:number|no|is|to|of) )?$|\bv\.?$|\.net $"
)
_OWN = re.compile(
    r"\b(?:my|mine|our|i|i'm|me|we|mein\w{0,2}|unser\w{0,2}|ich|mon|ma|mes|notre|je|mi|mis"
    r"|nuestr[oa]|yo|his|her|their)\b"
)
_FOR_SHOW = re.compile(
    r"\b(?:examples?|placeholder|replace|real one|your own|sample|documentation|rfc ?\d+|test-net)\b"
)
_SOMEBODY = re.compile(
    r"\b(?:logged|log-?in|ssh|ban(?:ned)?|block(?:ed)?|user|visitor|customer|client|connected"
    r"|attack\w*|came from|request from|angemeldet|connecté\w*)\b"
)
_RESOLVERS = frozenset(
    ipaddress.ip_address(one)
    for one in [
        "8.8.8.8",
        "8.8.4.4",
        "1.1.1.1",
        "1.0.0.1",
        "1.1.1.2",
        "1.1.1.3",
        "9.9.9.9",
        "149.112.112.112",
        "208.67.222.222",
        "208.67.220.220",
        "4.2.2.1",
        "4.2.2.2",
        "94.140.14.14",
        "94.140.15.15",
        "76.76.2.0",
        "2001:4860:4860::8888",
        "2001:4860:4860::8844",
        "2606:4700:4700::1111",
        "2606:4700:4700::1001",
        "2620:fe::fe",
        "198.41.0.4",
    ]
)
_DOCUMENTATION = tuple(
    ipaddress.ip_network(one)
    for one in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20")
)
_SMALL = 32
_ADDRESSES_MAX = 512

_MAC = re.compile(
    r"(?<![a-zA-Z\d_:.-])[0-9a-fA-F]{2}([:-])[0-9a-fA-F]{2}(?:\1[0-9a-fA-F]{2}){4}"
    r"(?![a-zA-Z\d_]|[:-][0-9a-fA-F])"
)
_MAC_SHOWN = ("00:00:5e:00:53", "00:11:22:33:44:55", "aa:bb:cc:dd:ee:ff", "12:34:56:78:9a:bc", "de:ad:be:ef")
"""What documentation and manuals write where some address has to stand."""
_MAC_HINT = re.compile(r"[:-][0-9a-fA-F]{2}[:-][0-9a-fA-F]{2}[:-]")
_MAC_DOTTED = re.compile(
    r"(?<![a-zA-Z\d_.])[0-9a-fA-F]{4}\.[0-9a-fA-F]{4}\.[0-9a-fA-F]{4}(?![a-zA-Z\d_]|\.[a-zA-Z\d_])"
)
_MAC_BARE = re.compile(r"(?<![a-zA-Z\d_])(?:SEP|ATA|MAC_?)?(?P<mac>[0-9a-fA-F]{12})(?![a-zA-Z\d_])")
"""SEP and ATA begin the names of files that telephones fetch."""
_DEVICE = re.compile(
    r"\b(?:devices?|gerät\w*|printer|drucker|imprimante|impresora|router|laptop|phone|tablet|tv|camera"
    r"|kamera|console"
    r"|access point|ap|nic|adapter|interface|eth\d|wlan\d?|en\d|dhcp|arp|lease|subnet|netzwerk\w*|wi-?fi"
    r"|station"
    r"|client|hardware|bssid|thermostat\w*|bulbs?|plugs?|speakers?|chromecast|doorbell|gateways?"
    r"|hubs?|bridges?"
    r"|switch(?:es)?|xbox|playstation|ps[345]|nintendo|wii|kindle|ipad|iphone|macbook|nas|server"
    r"|repeater|extender"
    r"|modem|box|fritz\S{0,8}|watch|scale|vacuum|fridge|freezer|oven|washer|washing machine|dishwasher"
    r"|sonos|alexa|echo"
    r"|ethernet|lan|wlan|bluetooth|ble|zigbee|knx|matter|filter\w*|allow ?list|white ?list|vlan"
    r"|raspberry|pi|arduino|esp\d{0,4}|dongle|drone|car|pc|computer|notebook|rechner|handy|télé\w*|téléphone"
    r"|ordinateur|ordenador|móvil|celular|computador|telefone?|telefono|stampante|lampa|lampe)\b"
)
_OTHER_HEX = re.compile(
    r"\b(?:commit|hash|git|docker|container|image|sha\d*|build|digest|layer|uuid|guid|object ?id"
    r"|revision|branch|serial"
    r"|checksum|firmware|version|tag|key|token)\b"
)
_MAC_WORD = re.compile(r"\b(?:mac|hardware|ethernet|bluetooth|wi-?fi|wlan|physical|physikalische)\b")
_MAC_BEHIND = re.compile(r"\b(?:mac|hardware|bssid|oui|physical address)\b")
_URL_LOGIN = re.compile(r"\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://([^\s/:@\"'<>]{0,64}):([^\s/@\"'<>]{1,128})@")
_SPACED_MAIL = re.compile(
    r"(?<![\w.])[\w+-]{1,32}(?: ?\. ?[\w+-]{1,32}){0,3} ?[(\[{](?:at|ät|a|arroba)[)\]}] ?[\w-]{2,40}(?: "
    r"?(?:\.|[(\[{](?:dot|punkt)[)\]}]) ?"
    r"[a-z]{2,12}){1,3}(?!\w)",
    re.IGNORECASE,
)
_ORACLE = re.compile(r"\bjdbc:oracle:\w{1,8}:[^/\s:]{1,40}/(?![<{$*])[^@\s]{3,64}@", re.IGNORECASE)
_URL_TOKEN = re.compile(r"\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[A-Za-z0-9_.~%-]{16,128}@")
_PLACEHOLDER = re.compile(r"^[<{$\[*]|^(?:x+|\*+)$", re.IGNORECASE)
_SAMPLE_USER = re.compile(r"(?:your_?)?(?:user(?:name)?|login|admin|name)", re.IGNORECASE)
_SAMPLE_PASSWORD = re.compile(r"(?:your_?)?(?:pass(?:word|wd)?|pwd|pw)", re.IGNORECASE)


def find(read: Text) -> str | None:
    """``url_login``, ``email``, ``ip``, ``mac`` or None."""
    text = read.text
    if "://" in text and "@" in text and _url_login(read):
        return "url_login"
    if "jdbc:oracle" in read.lower and _ORACLE.search(text) is not None:
        return "url_login"
    if _mail(read) or _written_out_mail(read) or _SPACED_MAIL.search(text) is not None:
        return "email"
    if _v4(read) or (_V6_HINT.search(text) is not None and _v6(read)):
        return "ip"
    if _mac(read):
        return "mac"
    return None


def _url_login(read: Text) -> bool:
    for found in _URL_LOGIN.finditer(read.text):
        if _SAMPLE_USER.fullmatch(found[1]) and _SAMPLE_PASSWORD.fullmatch(found[2]):
            continue
        if not _PLACEHOLDER.search(found[2]):
            return True
    return _URL_TOKEN.search(read.text) is not None


def _mail(read: Text) -> bool:
    if "@" not in read.text:
        return False
    for found in _MAIL.finditer(read.lower):
        local, host = found[0].split("@")[0].strip(), found[1].rstrip("-")
        spaced = " @" in found[0] or "@ " in found[0]
        last = host.rsplit(".", 1)[-1]
        if not _TOP.search(last) or last in _NOT_TOP or (spaced and last not in _TOPS):
            continue
        if (local == "git" and found[0].startswith("git@")) or host in _CODE_HOSTS:
            continue
        if (
            local in _SAMPLE_LOCAL
            and _SAMPLE_HOST.search(host)
            and not _OWN.search(read.before(found.start()))
        ):
            continue
        return True
    return False


def _written_out_mail(read: Text) -> bool:
    lower = read.lower
    if _DOT_WORDS.isdisjoint(read.words) and not _DOTTED.search(lower):
        return False
    for found in _AT.finditer(lower):
        local = _LOCAL_BEFORE.search(lower, max(0, found.start() - 64), found.start())
        domain = _DOMAIN_AFTER.match(lower, found.end())
        if local is None or domain is None:
            continue
        if domain.end() - found.end() > 160:
            continue
        last = _LAST.search(domain[0])
        if last is None:
            continue
        spelled_dot = domain["dot"] != "." or any(
            word in domain[0] for word in (" dot ", " punkt ", " punto ", " point ", "(dot")
        )
        marked = not found[0].strip().isalpha()
        if marked and found[0].strip() != "@":
            if last[0] in _TOPS or (spelled_dot and last[0] not in _NOT_TOP):
                return True
        elif spelled_dot:
            if last[0] in _TOPS:
                return True
        elif found[0].strip() != "@" and (
            _PROVIDERS.search(domain[0])
            or (
                last[0] in _TOPS
                and not _MAIL_WORDS.isdisjoint(re.split(r"[^\w-]+", read.before(found.start(), 64)))
            )
        ):
            return True
    return False


def _v4(read: Text) -> bool:
    for found in _V4_IN_NAME.finditer(read.text) if read.text.count("-") > 3 else ():
        address = _address(found[1])
        if address is not None and address.is_global:
            return True
    if read.text.count(".") < 3 or _V4_HINT.search(read.text) is None:
        return False
    for count, found in enumerate(_V4.finditer(read.text)):
        if count >= _ADDRESSES_MAX:
            return True
        if (address := _address(found[0])) is None:
            continue
        if _is_somebodys(read, address, found.start(), found.end()):
            before = read.before(found.start(), 40)
            if _VERSION_WORD.search(before):
                continue
            small = max(address.packed) < _SMALL
            if not small or not address.is_global or _ADDRESS_WORD.search(before) or _OWN.search(before):
                return True
    return False


def _address(shown: str) -> ipaddress.IPv4Address | None:
    """The IPv4 address, also one with zeros before its numbers or brackets round its dots."""
    parts = re.findall(r"\d+", shown)
    try:
        return ipaddress.IPv4Address(".".join(str(int(part)) for part in parts))
    except ValueError:
        return None


def _v6(read: Text) -> bool:
    for count, found in enumerate(_V6.finditer(read.text)):
        if count >= _ADDRESSES_MAX:
            return True
        shown = found[0]
        if shown.count(":") < 2 or (shown.endswith(":") and not shown.endswith("::")):
            shown = shown.rstrip(":")
        if shown.count(":") < 2 or not any(char.isdigit() for char in shown):
            continue
        try:
            address = ipaddress.IPv6Address(shown)
        except ValueError:
            continue
        if (address in _GLOBAL_V6 or address.is_private) and _is_somebodys(
            read, address, found.start(), found.end()
        ):
            return True
    return False


_GLOBAL_V6 = ipaddress.ip_network("2000::/3")


def _is_somebodys(
    read: Text, address: ipaddress.IPv4Address | ipaddress.IPv6Address, start: int, end: int
) -> bool:
    if address in _RESOLVERS or _is_network(address, _CIDR.match(read.text, end)):
        return False
    if any(address.version == block.version and address in block for block in _DOCUMENTATION):
        before = read.before(start, 64)
        if _OWN.search(before) is not None:
            return True
        return _SOMEBODY.search(before) is not None and _FOR_SHOW.search(read.lower) is None
    return (address.is_global and not address.is_multicast) or _is_machine(read, address, start, end)


def _is_machine(
    read: Text, address: ipaddress.IPv4Address | ipaddress.IPv6Address, start: int, end: int
) -> bool:
    """Whether a private address names a machine: not a network, a gateway or a lesson's example."""
    if address.is_global or not any(
        address.version == block.version and address in block for block in _PRIVATE
    ):
        return False
    if address.packed[-1] in _ORDINARY or _CIDR.match(read.text, end):
        return False
    before, after = read.before(start, 56), read.after(end, 40)
    if after.startswith("%") or "ff:fe" in read.lower[start:end] or before.endswith("inet "):
        return True
    if _ABOUT_RANGES.search(read.lower) is not None:
        return False
    if _MACHINE.search(before) or _MACHINE.search(after) or _HOST_SET.search(before) or _OWN.search(before):
        return True
    if _OWN_AFTER.match(after) or before[-1:] == "@":
        return True
    if any(address.version == block.version and address in block for block in _LESSONS):
        return False
    return (
        before.endswith("//")
        or _PORT.match(after) is not None
        or _LOGGED.search(before + " " + after) is not None
    )


_PRIVATE = tuple(
    ipaddress.ip_network(one)
    for one in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7", "fe80::/10")
)
_LESSONS = tuple(
    ipaddress.ip_network(one) for one in ("10.0.0.0/24", "192.168.0.0/23", "172.16.0.0/24", "172.17.0.0/24")
)
"""What manuals write where some address has to stand."""
_OWN_AFTER = re.compile(
    r"[)\]]?,? (?:is|ist|est|es|è|é|belongs to) (?:my|our|mein|unser|mon|ma|notre|mi|il mio|meu|mijn)\b"
)
_ORDINARY = frozenset([0, 1, 254, 255])
_PORT = re.compile(r"\]?:\d{2,5}(?!\d)|,? ?(?:on )?(?:port|poort|puerto|porta) \d{2,5}")
_MACHINE = re.compile(
    r"\b(?:printer|scanner|nas|camera|webcam|cctv|doorbell|thermostat|laptop|workstation|desktop|pc|iphone"
    r"|ipad"
    r"|phone|tablet|tv|raspberry(?: pi)?|plc|switch|access point|database|lives (?:on|at)"
    r"|sits (?:on|at)|drucker|kamera|rechner|imprimante|caméra|ordinateur|impresora|cámara|ordenador"
    r"|stampante"
    r"|impressora|computer|domain controller|fileserver|file server|nvr|dvr"
    r"|plex|synology|proxmox|esxi|home assistant|hosts entry|etc/hosts|dhcp lease|lease)\b"
)
_HOST_SET = re.compile(
    r"(?:host|addr|address|ip|server|node|peer|endpoint|url|bind)\w{0,8}[\"']? ?[=:] ?[\"']?(?:\w+://)?$"
)
_LOGGED = re.compile(
    r"\b(?:refused|denied|unreachable|accepted|failed|invalid user|banned|timed out after|no route"
    r"|\d\d:\d\d:\d\d"
    r"|logged in|login from|session opened|sshd|dhcpack|dhcpd|client|src|dst|user|rhost|remote_addr"
    r"|forwarded|upstream|backend|machine|worker|controller|switch|arp)\b"
)
_ABOUT_RANGES = re.compile(
    r"\b(?:rfc ?1918|subnet\w*|netmask|subred\w*|cidr|private (?:ip|address|range)\w*|address ranges?"
    r"|default gateway|broadcast|private adress\w*|adresses? privées?|direcci\w+ privad\w+|indirizz\w+"
    r" privat\w+"
    r"|how many hosts|usable hosts?)\b"
)


def _is_network(address: ipaddress.IPv4Address | ipaddress.IPv6Address, mask: re.Match[str] | None) -> bool:
    """Whether a mask makes it a network: its bits after the mask are zero, and there are some."""
    if mask is None:
        return False
    bits, length = int(mask[1]), address.max_prefixlen
    return bits > length or (bits < length and int(address) & ((1 << (length - bits)) - 1) == 0)


def _mac(read: Text) -> bool:
    text = read.text
    for found in _MAC.finditer(text) if _MAC_HINT.search(text) is not None else ():
        shown = found[0].lower().replace("-", ":")
        if len(set(shown) - {":"}) < 2 or shown.startswith(("01:00:5e", "33:33:")):
            continue
        if not shown.startswith(_MAC_SHOWN) or _OWN.search(read.before(found.start(), 64)) is not None:
            return True
    for found in _MAC_DOTTED.finditer(text) if text.count(".") > 1 else ():
        if any(char.isalpha() for char in found[0]) or _MAC_WORD.search(read.before(found.start())):
            return True
    for found in _MAC_BARE.finditer(text) if read.longest >= 12 else ():
        bare = found["mac"]
        if bare.isalpha():
            continue
        before, after = read.before(found.start()), read.after(found.end(), 40)
        if _MAC_WORD.search(before):
            return True
        if _OTHER_HEX.search(before):
            continue
        if _MAC_BEHIND.search(after):
            return True
        if bare.isdigit():
            continue
        if found[0] != bare or _DEVICE.search(before) or _DEVICE.search(after):
            return True
    return False
