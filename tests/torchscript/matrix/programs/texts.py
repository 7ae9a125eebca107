"""Texts: methods, formatting, conversions."""

from torch import Tensor, tensor

from ._case import case, raises


@case("text methods", ("Hello World",), ("ABC def 12",), ("",))
def letters(s: str) -> list[str]:
    return [s.upper(), s.lower(), s.swapcase(), s.title(), s.capitalize()]


@case("text methods", ("a1",), ("12",), ("ab",), (" ",), ("Ab Cd",), ("",), ("_x",))
def questions(s: str) -> list[bool]:
    return [
        s.isdigit(), s.isalpha(), s.isalnum(), s.isdecimal(), s.isnumeric(), s.islower(), s.isupper(),
        s.istitle(), s.isspace(), s.isprintable(), s.isidentifier(),
    ]  # fmt: skip


@case("text methods", ("a,b,,c",), ("",), (",",))
def split(s: str):
    return s.split(","), s.split(",", 1), s.rsplit(",", 1)


@case("text methods", ("  a b\tc  ",))
def split_at_spaces(s: str) -> list[str]:
    return s.split()


@case("text methods", ("one\ntwo\r\nthree",))
def lines(s: str):
    return s.splitlines(), s.splitlines(True)


@case("text methods", ("key=value=x",), ("none",))
def parts(s: str):
    return s.partition("="), s.rpartition("=")


@case("text methods", ("abcabc", "b"), ("abc", "z"), ("", ""))
def places(s: str, what: str):
    return s.find(what), s.rfind(what), s.count(what), s.find(what, 2), s.find(what, 0, 1)


@case("text methods", ("abcabc", "c"), raises("", "abc", "z"))
def index(s: str, what: str):
    return s.index(what), s.rindex(what)


@case("text methods", ("prefix_body",), ("xyzxyz",))
def ends(s: str):
    return s.startswith("pre"), s.endswith("body"), s.startswith("efi", 2), s.endswith("pre", 0, 3)


@case("text methods", ("  xaxx ",))
def strips(s: str) -> list[str]:
    return [s.strip(), s.lstrip(), s.rstrip(), s.strip(" x"), s.lstrip(" x"), s.rstrip("x ")]


@case("text methods", ("ab",), ("-12",))
def padded(s: str) -> list[str]:
    return [
        s.center(7),
        s.center(8, "*"),
        s.ljust(5),
        s.ljust(5, "."),
        s.rjust(5),
        s.rjust(5, "0"),
        s.zfill(6),
    ]


@case("text methods", ("a\tbc\td",))
def tabs(s: str) -> list[str]:
    return [s.expandtabs(), s.expandtabs(4)]


@case("text methods", ("aXbXc",))
def replaced(s: str) -> list[str]:
    return [s.replace("X", "--"), s.replace("X", "", 1), s.replace("q", "r")]


@case("text methods", (["a", "b", "c"],), ([],))
def joined(words: list[str]) -> list[str]:
    return [", ".join(words), "".join(words)]


@case("text operators", ("abcdef",), ("ab",))
def sliced(s: str) -> list[str]:
    return [s[0], s[-1], s[1:], s[:-1], s[1:4], s[::2], s[-2:]]


@case("text operators", ("ab", "b"))
def together(a: str, b: str):
    return a + b, b in a, "x" not in a, a == b, a != b, a < b, a > b, len(a)


@case("text operators", ("ab",))
def of_characters(s: str):
    return ord(s[0]), chr(98), list(s)


@case("text conversions", (12, 2.5, True), (-1, 1e20, False))
def to_text(n: int, f: float, b: bool) -> list[str]:
    return [str(n), str(f), str(b), str(None), str([n, n]), str((n, "a")), str({"k": n})]


@case("text conversions", ("12", "2.5"), ("-3", "1e3"))
def to_numbers(a: str, b: str):
    return int(a), float(b), float(a)


@case("text conversions", (255,), (8,), (0,))
def bases(n: int) -> list[str]:
    return [hex(n), oct(n), bin(n)]


@case("formatting", ("x", 3, 0.1), ("", -3, 1.0))
def format_method(s: str, n: int, f: float) -> str:
    return "{} and {} and {}; {}".format(s, n, f, [n, n])


@case("formatting", ("x", 3, 0.5))
def percent(s: str, n: int, f: float) -> list[str]:
    return ["%s=%d" % (s, n), "%f and %s%%" % (f, s), "%s" % s, "%i" % n]


@case("formatting", (1e-7,), (123456789.125,), (float("inf"),), (3.0,))
def floats(f: float) -> str:
    return "{} {}".format(f, [f])


@case("f-strings", ("x", 3, 0.25), ("é", 0, -1e-9))
def placed(s: str, n: int, f: float) -> str:
    return f"{s}: {n} {f} {n + 1}"


@case("f-strings", (tensor([1.0, 2.0]), 3))
def of_a_tensor(x: Tensor, n: int) -> str:
    return f"{x.size(0)} {x.dtype == x.dtype} {n}" + f"{'a' if n > 2 else 'b'}"


@case("f-strings", ({"a": 1}, (1, "b"), [0.5]))
def of_containers(d: dict[str, int], t: tuple[int, str], values: list[float]) -> str:
    return f"{d} {t} {values}"


@case("texts", ("ä€😀",))
def beyond_ascii(s: str):
    return s + "ß", s == "ä€😀", "→" + s


@case("texts", ("a'b\"c\\d\n",))
def quotes(s: str):
    return s == "a'b\"c\\d\n", "\t\x07" + s, 'it"s'


@case("texts", ("a",))
def as_keys(s: str) -> dict[str, list[str]]:
    return {s: [s, s + s], "b": [""]}


@case("texts", ("abc",))
def hashes(s: str) -> bool:
    return hash(s) == hash(s + "")
