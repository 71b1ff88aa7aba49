"""Texts of figures and tables as LaTeX, which pdflatex reads without packages of its own for their characters."""

import re

SPECIAL = {char: f"\\{char}" for char in "&%#_{}"} | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
RAISED = dict(zip("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789", strict=True))
SYMBOLS = {  # characters that pdflatex does not know, in mathematics
    **{"α": r"\alpha", "β": r"\beta", "γ": r"\gamma", "δ": r"\delta", "ε": r"\varepsilon", "μ": r"\mu"},
    **{"ρ": r"\rho", "σ": r"\sigma", "τ": r"\tau", "Δ": r"\Delta", "Γ": r"\Gamma", "√": r"\surd", "∞": r"\infty"},
    **{
        "≤": r"\le",
        "≥": r"\ge",
        "≈": r"\approx",
        "×": r"\times",
        "·": r"\cdot",
        "−": "-",
        "±": r"\pm",
        "†": r"^\dagger",
    },
    **{raised: f"{{}}^{{{plain}}}" for raised, plain in RAISED.items()},
}
MATHS = {ord(char): rf"\ensuremath{{{command}}}" for char, command in SYMBOLS.items()}
POWERS = re.compile(f"[{''.join(RAISED)}]+")


def escaped(text: str) -> str:
    """A text of this repository as LaTeX: what stands between two $ stays mathematics, all else is literal."""
    pieces = re.split(r"((?<!\\)\$[^$]*(?<!\\)\$)", text)
    return "".join(piece if piece[:1] == "$" and len(piece) > 1 else _literal(piece) for piece in pieces)


def _literal(text: str) -> str:
    plain = text.replace("\\$", "$")
    special = "".join(r"\textbackslash{}" if char == "\\" else SPECIAL.get(char, char) for char in plain)
    return characters(special.replace("$", r"\$"))


def characters(text: str) -> str:
    """LaTeX in which characters are replaced that pdflatex does not know; 10⁻⁷ as one power."""
    powers = POWERS.sub(lambda match: rf"\ensuremath{{{{}}^{{{match[0].translate(PLAIN)}}}}}", text)
    return powers.translate(MATHS)


PLAIN = str.maketrans(RAISED)


def declared() -> str:
    """The lines of a preamble with which pdflatex reads these characters."""
    return "\n".join(
        rf"\DeclareUnicodeCharacter{{{ord(char):04X}}}{{\ensuremath{{{command}}}}}" for char, command in SYMBOLS.items()
    )
