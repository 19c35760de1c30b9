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
from collections.abc import Iterator
from functools import cache

from node.privacy.text import Text
from node.privacy.words import entries, fill, listed, word

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_MAIL = re.compile(r"(?<![\w.+%-])([\w.+%'-]{1,64}) ?@ ?([\w-]{1,63}(?:\.[\w-]{1,63}){1,6})")
_TOP = re.compile(r"(?:xn--[a-z0-9-]{2,59}|[^\W\d_]{2,24})")
_SAMPLE_HOST = re.compile(fill("<sample_host>"))
_AT = re.compile(
    fill(r" ?[(\[{<] ?<at> ?[)\]}>] ?| (?:at|arroba|arobase|chiocciola|klammeraffe|ät) |[_-]at[_-]| ?@ ?")
)
_LOCAL_BEFORE = re.compile(r"[\w.+-]{0,62}[^\W_]$")
_DOMAIN_AFTER = re.compile(
    fill(r"[\w-]{1,63}(?:(?P<dot> ?[(\[{<] ?(?:<dot>|\.) ?[)\]}>] ?| <dot> |[_-]dot[_-]|\.)[\w-]{1,63}){1,4}")
)
_SPELLED_DOT = re.compile(fill(r" <dot> |\(dot"))
_DOTTED = re.compile(fill(r"\w\.[^\W\d_]{2}|[(\[{<]\.[)\]}>]|(?<![^\W_])<dot>(?![^\W_])"))
_LAST = re.compile(r"[^\W\d_]{2,24}$")
_PROVIDERS = re.compile(fill(r"<providers>\.[a-z.]{2,6}$"))
_MARKED_AT = re.compile(r"[(\[{][aä]")
_SPACED_MAIL = re.compile(
    r"(?<![\w.])[\w+-]{1,32}(?: ?\. ?[\w+-]{1,32}){0,3} ?[(\[{](?:at|ät|a|arroba)[)\]}] ?[\w-]{2,40}"
    r"(?: ?(?:\.|[(\[{](?:dot|punkt)[)\]}]) ?[a-z]{2,12}){1,3}(?!\w)",
    re.IGNORECASE,
)

_URL_LOGIN = re.compile(r"\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://([^\s/:@\"'<>]{0,64}):([^\s/@\"'<>]{1,128})@")
_URL_TOKEN = re.compile(r"\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[A-Za-z0-9_.~%-]{16,128}@")
_ORACLE = re.compile(r"\bjdbc:oracle:\w{1,8}:[^/\s:]{1,40}/(?![<{$*])[^@\s]{3,64}@", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"^[<{$\[*]|^(?:x+|\*+)$", re.IGNORECASE)
_SAMPLE_USER = re.compile(r"(?:your_?)?(?:user(?:name)?|login|admin|name)", re.IGNORECASE)
_SAMPLE_PASSWORD = re.compile(r"(?:your_?)?(?:pass(?:word|wd)?|pwd|pw)", re.IGNORECASE)

_V4 = re.compile(r"(?<![^\W_])(?<![\w.]\.)(?:\d{1,3}(?:\.|\[\.\]|\(\.\))){3}\d{1,3}(?![^\W_])(?!\.\d)")
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
_VERSION = re.compile(
    fill(r"(?:(?<!\w)<version_words>(?!\w))[^\w]{0,3}(?:(?:number|no|is|to|of) )?$|\bv\.?$|\.net $")
)
_OWN_AFTER = re.compile(fill(r"[)\]]?,? (?:is|ist|est|es|è|é|belongs to) <me>\b"))
_PORT = re.compile(r"\]?:\d{2,5}(?!\d)|,? ?(?:on )?(?:port|poort|puerto|porta) \d{2,5}")
_HOST_SET = re.compile(
    r"(?:host|addr|address|ip|server|node|peer|endpoint|url|bind)\w{0,8}[\"']? ?[=:] ?[\"']?(?:\w+://)?$"
)
_ORDINARY = frozenset([0, 1, 254, 255])
"""The last numbers of networks, gateways and broadcasts."""
_SMALL = 32
_ADDRESSES_MAX = 512

_MAC = re.compile(
    r"(?<![a-zA-Z\d_:.-])[0-9a-fA-F]{2}([:-])[0-9a-fA-F]{2}(?:\1[0-9a-fA-F]{2}){4}"
    r"(?![a-zA-Z\d_]|[:-][0-9a-fA-F])"
)
_MAC_HINT = re.compile(r"[:-][0-9a-fA-F]{2}[:-][0-9a-fA-F]{2}[:-]")
_MAC_DOTTED = re.compile(
    r"(?<![a-zA-Z\d_.])[0-9a-fA-F]{4}\.[0-9a-fA-F]{4}\.[0-9a-fA-F]{4}(?![a-zA-Z\d_]|\.[a-zA-Z\d_])"
)
_MAC_BARE = re.compile(r"(?<![a-zA-Z\d_])(?:SEP|ATA|MAC_?)?(?P<mac>[0-9a-fA-F]{12})(?![a-zA-Z\d_])")
"""SEP and ATA begin the names of files that telephones fetch."""


@cache
def _among(name: str) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    """The networks of a list; an address alone is a network of one."""
    return tuple(map(ipaddress.ip_network, entries(name)))


def _lies_in(address: _Address, name: str) -> bool:
    return any(address.version == network.version and address in network for network in _among(name))


def find(read: Text) -> str | None:
    """``url_login``, ``email``, ``ip``, ``mac`` or None."""
    if _url_login(read):
        return "url_login"
    is_marked = _MARKED_AT.search(read.lower) is not None and _SPACED_MAIL.search(read.text) is not None
    if is_marked or _mail(read) or _written_out_mail(read):
        return "email"
    if any(_is_somebodys(read, *found) for found in _addresses(read)):
        return "ip"
    return "mac" if _mac(read) else None


def _url_login(read: Text) -> bool:
    if "jdbc:oracle" in read.lower and _ORACLE.search(read.text) is not None:
        return True
    if "://" not in read.text or "@" not in read.text:
        return False
    for found in _URL_LOGIN.finditer(read.text):
        is_sample = _SAMPLE_USER.fullmatch(found[1]) and _SAMPLE_PASSWORD.fullmatch(found[2])
        if not is_sample and not _PLACEHOLDER.search(found[2]):
            return True
    return _URL_TOKEN.search(read.text) is not None


def _mail(read: Text) -> bool:
    for found in _MAIL.finditer(read.lower) if "@" in read.text else ():
        local, host = found[1], found[2].rstrip("-")
        last = host.rsplit(".", 1)[-1]
        is_spaced = " @" in found[0] or "@ " in found[0]
        if not _TOP.fullmatch(last) or last in listed("not_top") or (is_spaced and last not in listed("top")):
            continue
        if local == "git" or host in listed("code_hosts"):
            continue
        is_sample = local in listed("sample_local") and _SAMPLE_HOST.search(host) is not None
        if not is_sample or word("me", "theirs").search(read.before(found.start())):
            return True
    return False


def _written_out_mail(read: Text) -> bool:
    lower = read.lower
    for found in _AT.finditer(lower) if _DOTTED.search(lower) is not None else ():
        local = _LOCAL_BEFORE.search(lower, max(0, found.start() - 64), found.start())
        domain = _DOMAIN_AFTER.match(lower, found.end(), found.end() + 160)
        last = _LAST.search(domain[0]) if domain is not None else None
        if local is None or domain is None or last is None:
            continue
        is_top = last[0] in listed("top")
        spelled_dot = domain["dot"] != "." or _SPELLED_DOT.search(domain[0]) is not None
        shown = found[0].strip()
        if shown != "@" and not shown.isalpha():  # the word is marked: "(at)"
            if is_top or (spelled_dot and last[0] not in listed("not_top")):
                return True
        elif spelled_dot:
            if is_top:
                return True
        elif shown != "@" and (
            _PROVIDERS.search(domain[0])
            or (is_top and word("mail_words").search(read.before(found.start(), 64)))
        ):
            return True
    return False


def _addresses(read: Text) -> Iterator[tuple[_Address, int, int]]:
    """The first addresses, and where they stand; four numbers of a version are none."""
    text, seen = read.text, 0
    for found in _V4_IN_NAME.finditer(text) if text.count("-") > 3 else ():
        named = _v4(found[1])
        if named is not None and named.is_global:
            yield named, found.start(), found.end()
    for found in _V4.finditer(text) if text.count(".") > 2 else ():
        address = _v4(found[0])
        before = read.before(found.start(), 40)
        if address is None or _VERSION.search(before) is not None or (seen := seen + 1) > _ADDRESSES_MAX:
            continue
        is_small = address.is_global and max(address.packed) < _SMALL
        if not is_small or word("ip_words", "me", "theirs").search(before):
            yield address, found.start(), found.end()
    for found in _V6.finditer(text) if _V6_HINT.search(text) is not None else ():
        shown = found[0] if found[0].endswith("::") else found[0].rstrip(":")
        if shown.count(":") < 2 or not any(map(str.isdigit, shown)) or (seen := seen + 1) > _ADDRESSES_MAX:
            continue
        try:
            six = ipaddress.IPv6Address(shown)
        except ValueError:
            continue
        if six in _GLOBAL_V6 or six.is_private:
            yield six, found.start(), found.end()


_GLOBAL_V6 = ipaddress.ip_network("2000::/3")


def _v4(shown: str) -> ipaddress.IPv4Address | None:
    """The IPv4 address, also one with zeros before its numbers or brackets round its dots."""
    try:
        return ipaddress.IPv4Address(".".join(str(int(part)) for part in re.findall(r"\d+", shown)))
    except ValueError:
        return None


def _is_somebodys(read: Text, address: _Address, start: int, end: int) -> bool:
    if _lies_in(address, "resolvers") or _is_network(address, _CIDR.match(read.text, end)):
        return False
    if _lies_in(address, "documentation"):
        before = read.before(start, 64)
        return word("me", "theirs").search(before) is not None or (
            word("somebody").search(before) is not None and word("samples").search(read.lower) is None
        )
    return (address.is_global and not address.is_multicast) or _is_machine(read, address, start, end)


def _is_machine(read: Text, address: _Address, start: int, end: int) -> bool:
    """Whether a private address names a machine: not a network, a gateway or a lesson's example."""
    if address.is_global or not _lies_in(address, "private"):
        return False
    if address.packed[-1] in _ORDINARY or _CIDR.match(read.text, end):
        return False
    before, after = read.before(start, 56), read.after(end, 40)
    if after.startswith("%") or "ff:fe" in read.lower[start:end] or before.endswith("inet "):
        return True
    if word("about_ranges").search(read.lower) is not None:
        return False
    if word("machines", "me", "theirs").search(before) or word("machines").search(after):
        return True
    if _HOST_SET.search(before) or _OWN_AFTER.match(after) or before[-1:] == "@":
        return True
    if _lies_in(address, "lessons"):
        return False
    is_logged = word("logs").search(before + " " + after) is not None
    return is_logged or before.endswith("//") or _PORT.match(after) is not None


def _is_network(address: _Address, mask: re.Match[str] | None) -> bool:
    """Whether a mask makes it a network: its bits after the mask are zero, and there are some."""
    if mask is None:
        return False
    bits, length = int(mask[1]), address.max_prefixlen
    return bits > length or (bits < length and int(address) & ((1 << (length - bits)) - 1) == 0)


def _mac(read: Text) -> bool:
    text = read.text
    for found in _MAC.finditer(text) if _MAC_HINT.search(text) is not None else ():
        shown = found[0].lower().replace("-", ":")
        if len(set(shown)) < 3 or shown.startswith(entries("multicast")):
            continue
        is_sample = shown.startswith(entries("hardware"))
        if not is_sample or word("me", "theirs").search(read.before(found.start(), 64)):
            return True
    for found in _MAC_DOTTED.finditer(text) if text.count(".") > 1 else ():
        if any(map(str.isalpha, found[0])) or word("mac_before").search(read.before(found.start())):
            return True
    for found in _MAC_BARE.finditer(text) if read.longest >= 12 else ():
        bare = found["mac"]
        before, after = read.before(found.start()), read.after(found.end(), 40)
        if bare.isalpha():
            continue
        if word("mac_before").search(before):
            return True
        if word("hex_words").search(before):
            continue
        is_device = found[0] != bare or word("devices").search(before) or word("devices").search(after)
        if word("mac_behind").search(after) or (is_device and not bare.isdigit()):
            return True
    return False
