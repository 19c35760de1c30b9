"""What is conversation, what only begins like it, and what is said back."""

from __future__ import annotations

import pytest

from node.language import conversation
from node.language.phrases import languages
from node.language.reading import fold, words_of
from node.language.tables import codes

SAID = [
    ("hi", "en", "greeting"),
    ("hii", "en", "greeting"),
    ("heyyy!!", "en", "greeting"),
    ("hiya", "en", "greeting"),
    ("thx", "en", "thanks"),
    ("thnaks a lot", "en", "thanks"),
    ("ok thanks bye", "en", "thanks"),
    ("hi, how r u?", "en", "how_are_you"),
    ("waht can you do", "en", "what_can_you_do"),
    ("help", "en", "what_can_you_do"),
    ("What can I ask?", "en", "what_can_you_do"),
    ("who are yuo", "en", "who_are_you"),
    ("are you a robot?", "en", "who_are_you"),
    ("how do I add my own facts", "en", "teach"),
    ("do you need internet?", "en", "internet"),
    ("where is my data", "en", "data"),
    ("which model do you use", "en", "model"),
    ("are you sending my questions to somebody", "en", "data"),
    ("can I trust your answers?", "en", "trust"),
    ("how do I delete something I told you?", "en", "erase"),
    ("can u remember what i said yesterday", "en", "memory"),
    ("kann ich dir vertrauen?", "de", "trust"),
    ("wie kann ich etwas löschen", "de", "erase"),
    ("te souviens-tu de moi ?", "fr", "memory"),
    ("moin", "de", "greeting"),
    ("Guten Morgen! Was kannst du?", "de", "what_can_you_do"),
    ("Wer bist du denn?", "de", "who_are_you"),
    ("wie füge ich eigene Fakten hinzu?", "de", "teach"),
    ("¿Quién eres?", "es", "who_are_you"),
    ("qué puedes hacer", "es", "what_can_you_do"),
    ("Merci beaucoup !", "fr", "thanks"),
    ("que sais-tu faire ?", "fr", "what_can_you_do"),
    ("comment t'appelles-tu", "fr", "who_are_you"),
    ("grazie mille", "it", "thanks"),
    ("cosa sai fare?", "it", "what_can_you_do"),
    ("tudo bem?", "pt", "how_are_you"),
    ("o que você pode fazer", "pt", "what_can_you_do"),
    ("hola, how are you", "en", "how_are_you"),
    ("Привет!", "ru", "greeting"),
    ("Большое спасибо за помощь", "ru", "thanks"),
    ("до свидания", "ru", "farewell"),
    ("кто ты?", "ru", "who_are_you"),
    ("скажи, что ты умеешь", "ru", "what_can_you_do"),
    ("помощь", "ru", "what_can_you_do"),
    ("как мне добавить свои факты?", "ru", "teach"),
    ("где хранятся мои данные?", "ru", "data"),
    ("こんにちは！", "ja", "greeting"),
    ("どうもありがとうございました。", "ja", "thanks"),
    ("さようなら", "ja", "farewell"),
    ("あなたは誰ですか？", "ja", "who_are_you"),
    ("何ができますか", "ja", "what_can_you_do"),
    ("ヘルプ", "ja", "what_can_you_do"),
    ("どうやって自分の事実を追加できますか", "ja", "teach"),
    ("何のAIを使っていますか？", "ja", "model"),
    ("你好，世界", "zh", "greeting"),
    ("谢谢你的帮助", "zh", "thanks"),
    ("再见", "zh", "farewell"),
    ("你是谁？", "zh", "who_are_you"),
    ("你能做什么", "zh", "what_can_you_do"),
    ("請問你能做什麼？", "zh", "what_can_you_do"),
    ("帮助", "zh", "what_can_you_do"),
    ("我怎么添加自己的事实", "zh", "teach"),
]


@pytest.mark.parametrize(("text", "code", "topic"), SAID)
def test_conversation_is_known_in_its_language(text: str, code: str, topic: str) -> None:
    said = conversation.talk(text)
    assert said is not None
    assert said.code == code
    assert topic in said.topics


@pytest.mark.parametrize(
    "text",
    [
        "help me understand inflation",
        "who are you voting for in proposal 12",
        "thanks, and what is ipfs?",
        "can you help me with math",
        "what can you do with python",
        "what is your name for a cat",
        "how are you made",
        "who are we",
        "hello world program in python",
        "cello",
        "test results of the lakers",
        "where is my data centre",
        "how do I delete a file",
        "can I trust him",
        "do you remember the Titans",
        "what model is the iphone",
        "привет, какая погода в Москве?",
        "помоги мне понять инфляцию",
        "кто такой Лев Толстой",
        "сколько стоит биткоин",
        "こんにちは、東京の天気は？",
        "こんにちは東京の天気は",
        "ビットコインの価格はいくらですか",
        "二足す三はいくつ",
        "ありがとうの意味は何ですか",
        "织田信长是谁",
        "你好，北京天气怎么样？",
        "你好北京天气怎么样",
        "比特币多少钱",
        "三乘以四是多少",
        "你好用英语怎么说",
        "你",
        "あなたは誰に投票しますか",
        "",
        "?!",
        "x" * 5_000,
    ],
)
def test_a_question_with_content_is_not_conversation(text: str) -> None:
    assert conversation.talk(text) is None


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("hi, what is 2+2?", "what is 2+2?"),
        ("Hello! How are you? What's the weather in Paris? Thanks!", "What's the weather in Paris?"),
        ("thanks, and what is ipfs?", "what is ipfs?"),
        ("hey neuroswarm, what is a CID?", "what is a CID?"),
        ("bonjour, quel temps fait-il à Lyon ?", "quel temps fait-il à Lyon ?"),
        ("hi\n\ndef f(a):\n    return a[0, 1]", "def f(a):\n    return a[0, 1]"),
        ("Привет, а какая погода в Москве?", "какая погода в Москве?"),
        ("こんにちは、東京の天気は？ありがとう！", "東京の天気は？"),
        ("你好,北京天气怎么样？谢谢", "北京天气怎么样？"),
        ("hi", "hi"),
        ("hello, hello", "hello"),
        ("What is 1,000.5 + 2?", "What is 1,000.5 + 2?"),
        ("help, the parcel never came", "help, the parcel never came"),
        ("What is IPFS?", "What is IPFS?"),
    ],
)
def test_politeness_round_a_question_is_left_away(text: str, kept: str) -> None:
    assert conversation.without(text) == kept


def test_replies_are_of_the_language_and_name_the_model() -> None:
    said = conversation.talk("welches Modell nutzt du?")
    assert said is not None
    assert "llama (m)" in conversation.answer(said, ["llama (m)"])
    assert "kein Sprachmodell" in conversation.answer(said, [])
    both = conversation.talk("who are you and what can you do?")
    assert both is not None
    assert "assistant" in conversation.answer(both, [])
    assert "sums" in conversation.answer(both, [])


def test_what_tells_is_acknowledged_in_its_language() -> None:
    assert "teach" in conversation.acknowledge("The office opens at nine.", reacts=False)
    assert conversation.acknowledge("Das Wetter ist schön.", reacts=False).startswith("Ah, danke")
    assert conversation.acknowledge("Небо голубое.", reacts=False).startswith("Понятно")
    assert conversation.acknowledge("私は猫が好きです。", reacts=False).startswith("なるほど")
    assert conversation.acknowledge("我喜欢吃苹果。", reacts=False).startswith("明白")
    assert conversation.acknowledge("Люблю котів і псів", reacts=False).startswith("I see")
    assert conversation.acknowledge("hi Bob", reacts=True).startswith("Hello")
    assert conversation.acknowledge("lol", reacts=True) == "Good. Ask me whenever you want to know something."


@pytest.mark.parametrize(
    ("text", "kind", "target"),
    [
        ("shorter", "shorter", ""),
        ("make it shorter please", "shorter", ""),
        ("why?", "why", ""),
        ("warum", "why", ""),
        ("explain that", "explain", ""),
        ("more detail", "more", ""),
        ("say that simpler", "simpler", ""),
        ("explain it like I'm 5", "simpler", ""),
        ("auf Deutsch", "language", "German"),
        ("in german please", "language", "German"),
        ("en español, por favor", "language", "Spanish"),
        ("translate it to French", "language", "French"),
        ("plus court", "shorter", ""),
        ("più breve", "shorter", ""),
        ("mais curto", "shorter", ""),
        ("покороче, пожалуйста", "shorter", ""),
        ("по-английски", "language", "English"),
        ("もっと短くしてください", "shorter", ""),
        ("フランス語で", "language", "French"),
        ("为什么？", "why", ""),
        ("翻译成德语", "language", "German"),
    ],
)
def test_orders_on_the_last_answer(text: str, kind: str, target: str) -> None:
    order = conversation.order(text)
    assert order is not None
    assert (order.kind, order.target) == (kind, target)


@pytest.mark.parametrize("text", ["what is ipfs", "redis", "you", "for", "german", "shorter route to Rome"])
def test_no_orders(text: str) -> None:
    assert conversation.order(text) is None


# --- the files ------------------------------------------------------------------------------------


def test_every_language_has_every_topic_order_and_reply() -> None:
    english, *others = languages()
    assert sorted(one.code for one in languages()) == sorted(codes())
    for one in others:
        assert [topic.name for topic in one.talk] == [topic.name for topic in english.talk]
        assert one.orders.keys() == english.orders.keys()
        assert one.replies.keys() == english.replies.keys()
        assert set(one.languages.values()) >= {"English", "German", "Spanish", "French", "Italian"}


def test_phrases_are_written_as_texts_are_read() -> None:
    for one in languages():
        for word in one.known:
            assert fold(word) == word, (one.code, word)
            assert words_of(f"a {word} b")[1:-1] == [word] or word.endswith("'"), (one.code, word)


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("explain gravity to me like I'm five", "explain gravity"),
        ("what's a lever, in simple words?", "what is a lever ,"),
        ("IPNS for dummies", "ipns"),
        ("erkläre mir IPFS in einfachen Worten", "erklare mir ipfs"),
        ("IPFSをわかりやすく説明して", "ipfsを説明して"),
        ("用简单的话解释IPFS", "解释ipfs"),
        ("What is IPFS?", "What is IPFS?"),
        ("in simple words", "in simple words"),
    ],
)
def test_how_an_answer_is_wanted_is_not_what_it_is_about(text: str, about: str) -> None:
    assert conversation.subject(text) == about


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("please write a polite mail to the landlord about the tap", True),
        ("can you draft a letter for me", True),
        ("Schreib eine Mail an den Vorstand", True),
        ("Übersetze das ins Englische", True),
        ("Напиши письмо соседу", True),
        ("大家さんに丁寧なメールを書いてください", True),
        ("この本を書いている人", False),
        ("请帮我写一封邮件", True),
        ("怎么写一封信", False),
        ("who wrote the statutes", False),
        ("how do i write to the office", False),
        ("Draft beer: what does it cost", False),
        ("", False),
    ],
)
def test_an_order_to_write_is_no_question_for_a_note(text: str, is_one: bool) -> None:
    assert conversation.asks_to_write(text) is is_one
