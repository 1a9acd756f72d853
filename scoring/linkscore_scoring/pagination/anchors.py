"""What one anchor says about pagination: a number, a word of one of the languages of the web, or an arrow."""

from __future__ import annotations

import re
from dataclasses import dataclass

from linkscore_scoring.columns import Remembered
from linkscore_scoring.features.words import fold

NO_PAGE_LINK, PAGE, NEXT, PREV, FIRST, LAST = range(6)
"""What a page link leads to: a numbered page, or one named by its place in the order; 0 is no page link."""

_NEXT = """
next nxt forward forwards continue continued more older ouder oudere weiter nächste nächster nächstes vor
suivant suivante suivants suivantes suiv siguiente siguientes sig próximo próxima próximos próximas seguinte
seguintes avançar successivo successiva successivi avanti prossima prossimo volgende verder nästa neste næste
seuraava następna następny następne dalej další dále ďalšia ďalšie ďalej następna→ następny→ következő tovább
următor următoarea următorul înainte следующая следующий следующие следующее след далее дальше вперед вперёд
наступна наступні далі вперед следваща напред следећа sledeća sledeće sljedeća naslednja naprej επόμενη
επόμενο επόμενες sonraki ileri järgmine edasi nākamā nākošā kitas toliau pirmyn næsta següent berikutnya
selanjutnya lanjut seterusnya tiếp sau kế susunod הבא הבאה לדף الحقيقة التالي التالية لاحق بعدی بعد अगला अगले
আগামী পরবর্তী পরের அடுத்து ถัดไป หน้าถัดไป 다음 다음페이지 次 次へ 次のページ 次ページ 次の 下一页 下一頁 下页 下頁
后一页 後一頁 下一张 后页
"""

_PREV = """
previous prev previously back backward newer nieuwer nieuwere zurück vorherige vorheriger vorheriges vorige
vorig précédent précédente précédents précédentes préc anterior anteriores ant atrás voltar precedente
precedenti indietro terug föregående förra forrige tilbake edellinen poprzednia poprzedni poprzednie wstecz
cofnij předchozí předešlá předešlé zpět predchádzajúca predošlá späť előző vissza anterioară anterioara
precedentă inapoi înapoi предыдущая предыдущий предыдущие пред назад попередня попередні предишна претходна
prethodna prethodno prejšnja nazaj προηγούμενη προηγούμενο önceki geri eelmine tagasi iepriekšējā ankstesnis
atgal fyrri sebelumnya sebelum trước הקודם הקודמת السابق السابقة قبلی قبل पिछला पिछले পূর্ববর্তী আগের முந்தைய
ก่อนหน้า หน้าก่อนหน้า 이전 이전페이지 前 前へ 前のページ 前ページ 上一页 上一頁 上页 上頁 前一页 前一頁 前页
"""

_FIRST = """
first start begin beginning erste erster erstes anfang premier première début primera primero inicio primeira
primeiro início prima primo inizio eerste första första første ensimmäinen pierwsza pierwszy první prvá első
primul начало первая первый перша початок първа πρώτη ilk esimene pirmā pirmas pertama awal đầu ראשון الأولى
الأول نخست اولین पहला প্রথম หน้าแรก แรก 처음 最初 最初へ 最初のページ 首页 首頁 第一页 第一頁
"""

_LAST = """
last end final letzte letzter letztes ende dernier dernière fin última último ultimo ultima fine laatste sista
siste sidste viimeinen ostatnia ostatni poslední posledná utolsó ultimul последняя последний конец в_конец
в_начало остання кінець последна τελευταία son viimane pēdējā paskutinis terakhir akhir cuối אחרון الأخيرة
الأخير آخر آخرین अंतिम শেষ สุดท้าย หน้าสุดท้าย 마지막 끝
最後 最後へ 最後のページ 末页 末頁 尾页 尾頁 最后一页
最後一頁
"""

_PAGE_NOUNS = """
page pages pg seite seiten página páginas pagina pagine paginas sida sidan side siden sivu strona strony
stránka stránky oldal pagină страница страницы страницу стр сторінка σελίδα sayfa lehekülg lapa puslapis
halaman laman trang עמוד דף صفحة صفحه पृष्ठ পৃষ্ঠা หน้า 페이지 ページ 页 頁
"""

_ITEM_NOUNS = """
posts entries articles results items comments topics threads messages stories products photos beiträge
einträge ergebnisse artikel entradas artículos resultados mensajes publicaciones postagens articoli risultati
messaggi berichten resultaten inlägg wpisy записи сообщения tulisan 投稿 件
"""

_FILLERS = "the la le les el los las a to go do na de der die das zur zum i в на к w o из of → 》"

_PHRASES = {
    "older posts": NEXT,
    "newer posts": PREV,
    "show more": NEXT,
    "load more": NEXT,
    "more upcoming events": NEXT,
    "в начало": FIRST,
    "в конец": LAST,
    "plus anciens": NEXT,
    "plus récents": PREV,
    "mas antiguas": NEXT,
    "más recientes": PREV,
    "ältere": NEXT,
    "neuere": PREV,
    "starsze": NEXT,
    "nowsze": PREV,
    "過去の投稿": NEXT,
    "新しい投稿": PREV,
    "trang sau": NEXT,
    "trang trước": PREV,
    "trang đầu": FIRST,
    "trang cuối": LAST,
    "الصفحة التالية": NEXT,
    "الصفحة السابقة": PREV,
    "صفحه بعد": NEXT,
    "صفحه قبل": PREV,
}


def _words(text: str) -> list[str]:
    return [fold(word) for word in text.split()]


KIND_OF_WORD: dict[str, int] = {
    **{word: kind for kind, text in ((LAST, _LAST), (FIRST, _FIRST)) for word in _words(text)},
    **{word: kind for kind, text in ((PREV, _PREV), (NEXT, _NEXT)) for word in _words(text)},
    **{fold(phrase): kind for phrase, kind in _PHRASES.items()},
}
"""Folded word or phrase -> kind."""

PAGE_NOUNS = frozenset(_words(_PAGE_NOUNS))
"""What a reader turns: ``next page`` says more than ``next``."""

ITEM_NOUNS = frozenset(_words(_ITEM_NOUNS))
"""What pages are full of, in the plural: ``older posts`` is a page, ``next post`` is not."""

FILLERS = frozenset(_words(_FILLERS))
"""What may stand between."""

KNOWN_WORDS = frozenset(
    {part for phrase in KIND_OF_WORD for part in phrase.split()} | PAGE_NOUNS | ITEM_NOUNS | FILLERS
)
"""Every word an anchor of a page link is made of."""

_WHOLE = KIND_OF_WORD.keys() | PAGE_NOUNS | ITEM_NOUNS | FILLERS
"""What means something by itself, not only in a phrase."""

MAX_CHARS = 48
"""Longer anchors are titles; chosen, not measured."""

_NUMBER = re.compile(r"[\s\[(|<{.…-]*([0-9]{1,6}|[0-9]{1,3}(?:[,.'\u00a0 ][0-9]{3}))[\s\])|>}.,-]*")
_RANGE = re.compile(r"\s*([0-9]{1,6})\s*[-\u2013]\s*([0-9]{1,6})\s*")
_ARROWS = {
    "»": NEXT, "›": NEXT, ">": NEXT, "→": NEXT, "▶": NEXT, "►": NEXT, "⇒": NEXT, "⟩": NEXT, "⟶": NEXT,
    "❯": NEXT, "≫": NEXT, "》": NEXT, "〉": NEXT, "➡": NEXT, "➔": NEXT, "▸": NEXT,
    "«": PREV, "‹": PREV, "<": PREV, "←": PREV, "◀": PREV, "◄": PREV, "⇐": PREV, "⟨": PREV, "⟵": PREV,
    "❮": PREV, "≪": PREV, "《": PREV, "〈": PREV, "⬅": PREV, "◂": PREV,
    "⏭": LAST, "⏮": FIRST,
}  # fmt: skip
_BARS = "|¦"
_PUNCTUATION = '()[]{}.,:;…·•*_-–—"/\\=~^&\ufe0e\ufe0f\u200e\u200f\u200b'
_SIGNS = re.escape("".join(_ARROWS) + _BARS + _PUNCTUATION)
_WORD = rf"[^\s0-9{_SIGNS}]+"
_TOKEN = re.compile(rf"[0-9]+|{_WORD}|\S")
_FIRST_WORD = re.compile(_WORD)
_PAGE_ENDINGS = tuple(map(fold, ("ページ", "页", "頁", "페이지")))
_ENDS = {(NEXT, 2): LAST, (PREV, 2): FIRST}


@dataclass(frozen=True, slots=True)
class Mark:
    """What an anchor says: a kind, its number (`PAGE` only), and whether it names pages in words."""

    kind: int = NO_PAGE_LINK
    number: int = 0
    names_pages: bool = False
    is_arrow: bool = False


NOTHING = Mark()


def _read_anchor(anchor: str) -> Mark:
    """Return what an anchor says; a title, a date or a post number (``#12``) says nothing. O(length)."""
    if not anchor or len(anchor) > MAX_CHARS:
        return NOTHING
    if anchor[0].isalpha():  # as most do: neither a number nor a range begins so
        word = _FIRST_WORD.match(anchor)
        if word is not None and fold(word[0].replace("'", "")) not in KNOWN_WORDS:
            return NOTHING
        return _read_words(anchor.replace("'", ""))
    number = _NUMBER.fullmatch(anchor)
    if number is not None:
        return Mark(PAGE, int(re.sub(r"[^0-9]", "", number[1])))
    items = _RANGE.fullmatch(anchor)
    if items is not None:
        first, size = int(items[1]), int(items[2]) - int(items[1]) + 1  # 21-40: the second page of twenty
        return Mark(PAGE, first // size + 1) if size > 1 and first % size == 1 else NOTHING
    return _read_words(anchor.replace("'", ""))


read_anchor = Remembered(_read_anchor, 16_384)
"""What an anchor says; many pages show the same ones."""


def _read_words(anchor: str) -> Mark:
    """Read an anchor that must consist of known words, arrows, page nouns and numbers, nothing else."""
    words, arrows, numbers = [], [], []
    for found in _TOKEN.finditer(anchor):
        token = found[0]
        if token in _ARROWS or token in _BARS:
            arrows.append(token)
        elif token.isdecimal():
            numbers.append(token)
        elif token not in _PUNCTUATION:
            words.append(fold(token))
            if words[-1] not in KNOWN_WORDS:
                return NOTHING
    if not words:
        return Mark(_arrow_kind(arrows), is_arrow=True) if arrows and not numbers else NOTHING
    return _worded(words, numbers)


def _worded(words: list[str], numbers: list[str]) -> Mark:
    phrase = KIND_OF_WORD.get(" ".join(words), NO_PAGE_LINK)
    kinds = [KIND_OF_WORD[word] for word in words if word in KIND_OF_WORD and word not in PAGE_NOUNS]
    if not phrase and not kinds:
        return _numbered(words, numbers)
    if len(numbers) > 2 or not (phrase or _WHOLE.issuperset(words)):
        return NOTHING
    kind, named = phrase or kinds[0], _names_pages(words, phrase)
    if kind == LAST and len(numbers) == 1 and not named and len(numbers[0]) < 7:
        return Mark(PAGE, int(numbers[0]))
    return Mark(kind, names_pages=named and kind in (NEXT, PREV))


def _names_pages(words: list[str], phrase: int) -> bool:
    return (
        any(word in PAGE_NOUNS or word in ITEM_NOUNS for word in words)
        or (phrase > 0 and len(words) > 1)
        or words[0].endswith(_PAGE_ENDINGS)
    )


def _numbered(words: list[str], numbers: list[str]) -> Mark:
    """Read ``Page 3``."""
    if len(words) == 1 and words[0] in PAGE_NOUNS and len(numbers) == 1 and len(numbers[0]) < 7:
        return Mark(PAGE, int(numbers[0]))
    return NOTHING


def _arrow_kind(arrows: list[str]) -> int:
    """Return the kind of arrows alone: ``>`` next, ``>>`` or ``>|`` last, as far as they agree."""
    kinds = {_ARROWS[arrow] for arrow in arrows if arrow in _ARROWS}
    if len(kinds) != 1:
        return NO_PAGE_LINK
    kind = kinds.pop()
    strokes = sum(arrow in "<>‹›" or arrow in _BARS for arrow in arrows)
    return _ENDS.get((kind, 2), kind) if strokes >= 2 else kind
