"""What the tokenizers make of texts as people and programs write them, written down by hand."""

from __future__ import annotations

import pytest

from sqe_fast.text import tokenize

pytestmark = pytest.mark.usefixtures("isa")

CODE = {
    "getHTTPResponse_v2Final": "gethttpresponse_v2final get http response v 2 final",
    "parseXML": "parsexml parse xml",
    "XMLParser": "xmlparser xml parser",
    "parse": "parse",
    "HTTP": "http",
    "MAX_VALUE": "max_value max value",
    "__init__": "init",
    "_private": "private",
    "__len_of__": "len_of len",
    "___": "",
    "x": "x",
    "utf8": "utf8 utf 8",
    "2024": "2024",
    "0x1F": "0x1f 0 x 1 f",
    "is_valid": "is_valid valid",
    "The cat is on the mat": "cat mat",
    "don't": "don",
    "src/sqe_fast/text.py:42": "src sqe_fast sqe fast text py 42",
    r"C:\Users\me": "c users",
    "self.assertEqual(a.b, 'X-y')": "self assertequal assert equal b x y",
    '  File "/testbed/models.py", line 12, in get_queryset': (
        "file testbed models py line 12 get_queryset get queryset"
    ),
    "ValueError: invalid literal for int() with base 10: ''": (
        "valueerror value error invalid literal int base 10"
    ),
    '{"tool": "edit_file", "args": {"lineNo": 3}}': ("tool edit_file edit file args lineno line no 3"),
    "# Привет, мирТруд": "привет миртруд мир труд",
    "größeÄndern": "größeändern größe ändern",
    "变量名 = get值()": "变量 量名 get 值",
    "a\u00adb\u200dc": "abc",
    "“quoted”—dash…": "quoted dash",
}

WORD = {
    "Don't stop; it’s rock'n'roll, the dogs' 'quote'": "don't stop it's rock'n'roll the dogs quote",
    "pi is 3.14, v2.0.1. End.": "pi is 3.14 v2.0.1 end",
    "1,000 a.b x.1": "1 000 a b x 1",
    "snake_case __dunder__ _": "snake_case dunder",
    "getHTTPResponse": "gethttpresponse",
    "cafe\u0301 café Ⅷ x²": "cafe\u0301 café ⅷ x²",
    "col·lecció": "col·lecció",
    "我在学习Python编程。": "我在 在学 学习 python 编程",
    "是": "是",
    "東京タワーでラーメンを": "東京 タワー で ラーメン を",
    "らーめん 佐々木": "らー ーめ めん 佐々 々木",
    "ｶﾞｰﾄﾞ": "ｶﾞｰﾄﾞ",
    "葛\U000e0100城": "葛城",
    "한국어를 공부해요 API를 2023년": "한국어를 공부해요 api 를 2023 년",
    "नमस्ते दुनिया, हिन्दी।": "नमस्ते दुनिया हिन्दी",
    "ภาษา ที่": "ภา าษ ษา ที่",
    "ພາສາ": "ພາ າສ ສາ",
    "ភាសា": "ភាសា",
    "مُحَمَّد كتاب، 'می\u200cخواهم'": "مُحَمَّد كتاب میخواهم",
    "שלום צה״ל": "שלום צה״ל",
    "ΟΔΟΣ ΣΊΣΥΦΟΣ, σοφός": "οδος σίσυφος σοφός",
    "İstanbul ILIK ığdır": "i\u0307stanbul ilik ığdır",
    "STRASSE straße ẞ": "strasse straße ß",
    "Ещё ОДИН": "ещё один",
    "Xin chào Việt Nam": "xin chào việt nam",
    "a👍b 🙂": "a b",
    "zero\u200bwidth": "zero width",
}


@pytest.mark.parametrize(("text", "tokens"), CODE.items())
def test_code(text: str, tokens: str) -> None:
    assert tokenize(text, "code") == tokens.split()


@pytest.mark.parametrize(("text", "tokens"), WORD.items())
def test_word(text: str, tokens: str) -> None:
    assert tokenize(text, "word") == tokens.split()
