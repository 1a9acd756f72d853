"""What anchors of page flips say, in the languages of the web; matched without case and accents."""

from __future__ import annotations

import unicodedata

from linkscore_scoring.pagination.kinds import FIRST, LAST, NEXT, PREV


def fold(text: str) -> str:
    """Return a text in lower case, without accents and other combining marks, width variants unified."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in decomposed if not unicodedata.combining(char))


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
"""What is flipped through: ``next page`` says more than ``next``."""

ITEM_NOUNS = frozenset(_words(_ITEM_NOUNS))
"""What pages are full of, in the plural: ``older posts`` is a page, ``next post`` is not."""

FILLERS = frozenset(_words(_FILLERS))
"""What may stand between."""

KNOWN_WORDS = frozenset(
    {part for phrase in KIND_OF_WORD for part in phrase.split()} | PAGE_NOUNS | ITEM_NOUNS | FILLERS
)
"""Every word an anchor of a page flip is made of."""
