"""Known answers that other implementations made: public test vectors of the specifications, and bytes that
js-ipns, js-unixfs and js-car wrote for the tests of this directory."""

from __future__ import annotations

from base64 import b64decode

SPECIFICATION_RECORDS = {
    "v1-v2-broken-signature-v2": (
        "k51qzi5uqu5diamp7qnnvs1p1gzmku3eijkeijs3418j23j077zrkok63xdm8c",
        b64decode(
            "Cj4vaXBmcy9iYWZrcWFodHdnZXZ4bW1yYW81dXhpMmJhbWp6ZzYyM2ZueXFoZzJsaG56cXhpNWxzbXVxaG1tcRJAjeL4ntt0Kd9X"
            "5BfMb++Z7bEZ+L8j7WOJaj+QQiozOFuYgAqzqC9w2nBK2vbqHnAfH+NP9Q/Ileo6ZHXiHEGeARgAIhsyMTIzLTA4LTE0VDEyOjE3"
            "OjAzLjY5NDA1MlooADCAoPHCsTRCDWludmFsaWQgc3R1ZmZKkgGlY1RUTBsAAAGjGFxQAGVWYWx1ZVg+L2lwZnMvYmFma3FhaHR3"
            "Z2V2eG1tcmFvNXV4aTJiYW1qemc2MjNmbnlxaGcybGhuenF4aTVsc211cWhtbXFoU2VxdWVuY2UAaFZhbGlkaXR5WBsyMTIzLTA4"
            "LTE0VDEyOjE3OjAzLjY5NDA1MlpsVmFsaWRpdHlUeXBlAA=="
        ),
    ),
    "v1-v2-broken-signature-v1": (
        "k51qzi5uqu5dilgf7gorsh9vcqqq4myo6jd4zmqkuy9pxyxi5fua3uf7axph4y",
        b64decode(
            "Cj4vaXBmcy9iYWZrcWFodHdnZXZ4bW1yYW81dXhpMmJhbWp6ZzYyM2ZueXFoZzJsaG56cXhpNWxzbXVxaG1taRINaW52YWxpZCBz"
            "dHVmZhgAIhsyMTIzLTA4LTE0VDEyOjE3OjAzLjY5NDA1MlooADCAoPHCsTRCQDLFjmqubpaOcNifMaGgsU4Y4TI9ntYayJtdlEdh"
            "eA53tItrCas+sbT2FGBrVVN7WKWsZ0MoMtVkmY2EfQcctQdKkgGlY1RUTBsAAAGjGFxQAGVWYWx1ZVg+L2lwZnMvYmFma3FhaHR3"
            "Z2V2eG1tcmFvNXV4aTJiYW1qemc2MjNmbnlxaGcybGhuenF4aTVsc211cWhtbWloU2VxdWVuY2UAaFZhbGlkaXR5WBsyMTIzLTA4"
            "LTE0VDEyOjE3OjAzLjY5NDA1MlpsVmFsaWRpdHlUeXBlAA=="
        ),
    ),
    "v2": (
        "k51qzi5uqu5dit2ku9mutlfgwyz8u730on38kd10m97m36bjt66my99hb6103f",
        b64decode(
            "QkBqdphYXisXBwnUlH4UixixINdttDUV7azykN+Wtx4pwMpaFlECVoFPglVTLsRUmt4m9MqDNfTEHiz//rG6CqUBSnilY1RUTBsA"
            "AAGjGFxQAGVWYWx1ZVgkL2lwZnMvYmFma3FhZHR3Z2l3dzYzdG1wZXFoZXpsZG41emdpaFNlcXVlbmNlAGhWYWxpZGl0eVgbMjEy"
            "My0wOC0xNFQxMjoxNzowMy42OTQwNTJabFZhbGlkaXR5VHlwZQA="
        ),
    ),
    "v1-v2": (
        "k51qzi5uqu5dlkw8pxuw9qmqayfdeh4kfebhmreauqdc6a7c3y7d5i9fi8mk9w",
        b64decode(
            "CiEvaXBmcy9iYWZrcWFkZHdnZXZ4bW1yYW9qc3dnMzNzbXESQKVBIW5AlouMwTkDk422cy5V72gCzuZl1kXeBsRUqu/PBlR1C8hO"
            "m0ElCzXk1B2lOcWlQn/DDgjclKS9yoAD+A4YACIbMjEyMy0wOC0xNFQxMjoxNzowMy42OTQwNTJaKAAwgKDxwrE0QkBKUbhkQ4lL"
            "69MhRgLsLDYnDkzQUIpmbfo1VmDE+ouikK595E12q1LEc585fnFBl05qQaA5gBJgz9PAWwBqSiUNSnWlY1RUTBsAAAGjGFxQAGVW"
            "YWx1ZVghL2lwZnMvYmFma3FhZGR3Z2V2eG1tcmFvanN3ZzMzc21xaFNlcXVlbmNlAGhWYWxpZGl0eVgbMjEyMy0wOC0xNFQxMjox"
            "NzowMy42OTQwNTJabFZhbGlkaXR5VHlwZQA="
        ),
    ),
    "v1-v2-broken-v1-value": (
        "k51qzi5uqu5dlmit2tuwdvnx4sbnyqgmvbxftl0eo3f33wwtb9gr7yozae9kpw",
        b64decode(
            "CjYvaXBmcy9iYWZrcWFnbHVtdnp4aTJsb200cWdleWxlZWJ1eGEzdHRlYnpna3kzcG9qc2hnY3ESQE5taz3vFU7cTf9hDAOApkMy"
            "WDc4w1nSfrC4qITpk9sInaYHbzEPiZUkcB2oWaNN5KvylXYVmxJC2vcUQyF5Zg4YACIbMjEyMy0wOC0xNFQxMjoxNzowMy42OTQw"
            "NTJaKAAwgKDxwrE0QkBKnsu1f2ZA7v+BSXyxrVDYn0fn5RYCVmO+9gRgL4a26b88KvjUOkq6ZawaGybWDcL4UWMFXkfyBtZWBnt9"
            "G7cESpIBpWNUVEwbAAABoxhcUABlVmFsdWVYPi9pcGZzL2JhZmtxYWh0d2dldnhtbXJhb2pzd2czM3NtcXFobzJsdW5hcWdlNHRw"
            "bm5zdzRpZHdtZndoa3ppaFNlcXVlbmNlAGhWYWxpZGl0eVgbMjEyMy0wOC0xNFQxMjoxNzowMy42OTQwNTJabFZhbGlkaXR5VHlw"
            "ZQA="
        ),
    ),
    "v1": (
        "k51qzi5uqu5dm4tm0wt8srkg9h9suud4wuiwjimndrkydqm81cqtlb5ak6p7ku",
        b64decode(
            "CiQvaXBmcy9iYWZrcWFkdHdnZXd3NjN0bXBlcWhlemxkbjV6Z2kSQEedeyjkXQBKsjSpBHyB4WYPVA08/XHiF0otM9qhLtisJiyM"
            "fGugifOkdR/TsGt758s6VBgUerTul2quBszrWAcYACIbMjEyMy0wOC0xNFQxMjoxNzowMy42OTQwNTJaKAAwgKDxwrE0"
        ),
    ),
}
"""The IPNS specification's test vectors: name of the case → IPNS name, record (made by boxo)."""

JS_ED25519_NAME = "k51qzi5uqu5dg9ufswxt229ntzdy7p4125xzv5rtyjso89ajdujg6csfxcj260"
JS_ED25519_PEER = "12D3KooWA4Xop1JaT3MHxwYMkCepYsv4iPVopMXwCz5iHYdBfeSB"
JS_ED25519_RECORD = b64decode(
    "QkB7jVUFBSVH09FUk01raWHKt9tOycXamkrx7+iauoI7zISfsOzS8B+LLomXLI+rObdCJiamOaizuY/JRhUZznAOSpgBpWNUVEwb"
    "AAAADfhHWABlVmFsdWVYQS9pcGZzL2JhZmtyZWlmemp1dDN0ZTJuaHlla2tsc3MyN25oM2s3MnlzY283eTMya29hbzVlZWk2Nndv"
    "ZjM2bjVlaFNlcXVlbmNlB2hWYWxpZGl0eVgeMjEyNi0xMC0yOVQxNjo0NDowMS4wMTYwMDAwMDBabFZhbGlkaXR5VHlwZQA="
)
"""js-ipns 10.1.6, key from the seed 00 01 … 1f, until 2126-10-29T16:44:01.016000000Z."""
JS_ED25519_UNTIL = "2126-10-29T16:44:01.016000000Z"

JS_RSA_NAME = "k2k4r8l3gfl5xlm7vtxwc4dzz9v2m5sibgu79euaxo70j8jklpzdulcd"
JS_RSA_PEER = "QmSsc6aM8CrhQv463snGfwcroAjWN1PUERmoHiakFxhVNk"
JS_RSA_RECORD = b64decode(
    "OqsCCAASpgIwggEiMA0GCSqGSIb3DQEBAQUAA4IBDwAwggEKAoIBAQCz6ZrBph38ezFHr8rvQXuhAAsDZqfUx8QXm1i1beFNV08+"
    "7rFw9ieE5hxzT1lEtai7V3mrb9cW5a19+Hz1ISChafc4wrwhul8DL458LaxefXShiOxOV7g/yzQ7Nbg3Z+GLZWSsZFZQr59IKaPg"
    "bGKL8saEMIk9GbJmCMabajKTKSHpw7pw+oMvBx4zEBRKdp8l4GMIgaSpx/PoYzgRBe2fQw87EX/RnvMUAfLDpPmlvhuY61/nPhQz"
    "OjHSJ7P8J9Yk3mCN4PNSWwJZAq4IN0Ou2IpiQytA+ZKxmIxpW9fUyyF+9LKyWWsgwMLpEYWcYH5HbTtOJqiMkcIZQJXOfanfAgMB"
    "AAFCgAIHF5dsQcegcS6G9XBsWWDurgQ5RJe9v3Hd+Kqi3CfGh81r8cIfZrGLYTsIu70xCkgxjShxGpmDZVXz7ygp7rlQeJrxrgqE"
    "78XTpTnQNdOfDJJqroJ0v2DcHYH4+TsDgCzgDu0NaRvLvUf6GOWZHwScftGD9HfDMjaUAr0xKRB2W2J439GeYp9UqVxRVC+lK7RT"
    "yM0lJoXuyc4kYGdWBUkqR71Kx0qSD3RLeHjLuSLMoK/NPThwHv+XEtcClyStS+3ngRlev4UcHf+5O08Ruo2nIwtrbE8j6zdK8aiV"
    "R/a0PJkmUGOoVse4UguDhSEJYXlCyR6G785dB7AF7JffSzv3SmylY1RUTBsAAABF2WS4AGVWYWx1ZVYvaXBucy9leGFtcGxlLmNv"
    "bS9wYXRoaFNlcXVlbmNlAWhWYWxpZGl0eVgeMjEyNi0xMC0yOVQxNjo0NDowMS4yODQwMDAwMDBabFZhbGlkaXR5VHlwZQA="
)
"""js-ipns 10.1.6 with a throw-away RSA key of 2,048 bits; points to /ipns/example.com/path."""

JS_FILE_CAR = b64decode(
    "OqJlcm9vdHOB2CpYJQABcBIgn0c5BRPQ8KyTEBHtZOvfDxNbffHWHiFS+z+MxGVgQBVndmVyc2lvbgEoAVUSIIjUJm/U5jONE7hF"
    "/PKJV50gnIl4I7khfaPhYZNvAxWJYWJjZCgBVRIg5eCIoLZhY6Cial4FPSpEltwWq24OPdGt8tFqqEoHjJ1lZmdoJgFVEiDJ35w/"
    "KWOxm5uV9YxNM7BT+p+Fht1u4EEm5SqGj4ghCGlqtAEBcBIgn0c5BRPQ8KyTEBHtZOvfDxNbffHWHiFS+z+MxGVgQBUSKgokAVUS"
    "IIjUJm/U5jONE7hF/PKJV50gnIl4I7khfaPhYZNvAxWJEgAYBBIqCiQBVRIg5eCIoLZhY6Cial4FPSpEltwWq24OPdGt8tFqqEoH"
    "jJ0SABgEEioKJAFVEiDJ35w/KWOxm5uV9YxNM7BT+p+Fht1u4EEm5SqGj4ghCBIAGAIKCggCGAogBCAEIAI="
)
"""js-car: the file ``abcdefghij`` in chunks of 4 bytes, made by ipfs-unixfs-importer."""

JS_SHARD = b64decode(
    "EiwKJAFwEiAvcd2U/OLr73SJNUQxAQQsUF0F0+dvlj2ne8KmHmUR/hIBMBimARIxCiQBVRIgLXEWQrcmsEQBYnyp+6wy9chTD7GQ"
    "PMTbAiWHF5IaSIESBzExMC50eHQYARIsCiQBcBIg7Ntq5ohZRTZrZBi1sX1JFsdSJsKKs4jNUciAbDyky7oSATIY2wESMQokAVUS"
    "IC1xFkK3JrBEAWJ8qfusMvXIUw+xkDzE2wIlhxeSGkiBEgczMzIudHh0GAESLAokAXASIF2RCc4IzmdzMXVi/e6b1oXBapYwy64i"
    "eNeVsVdDB2YrEgE0GNwBEiwKJAFwEiA3YsjCZRYUPMrPsd53JbgB1pWgdKclFT6ct5yl+4QOYhIBNRinARIwCiQBVRIgLXEWQrcm"
    "sEQBYnyp+6wy9chTD7GQPMTbAiWHF5IaSIESBjY0LnR4dBgBEiwKJAFwEiBJrsSy7xffN83KhhzmnWIO/FsS13T39Oq3BmvK8TLW"
    "sRIBNxioARIrCiQBcBIg9MkKG/H0GFboprAX0NHiMDCESu1KCkgjUDmnLGZMI2gSATgYchIsCiQBcBIgO51thaCdHcY3cIQRs6MP"
    "HS55UG2TvJ5inCWGrrZpdQwSATkYqAESKwokAXASIB9e9VKLekESOW4HOFW+jlT9YWKvN1n/Bo/WkbR6hu9yEgFBGHMSLAokAXAS"
    "IB1Ii5t1RcWWnd5mOyARC0X0lT+PkyQQIvMrb+B/7pnKEgFCGNsBEisKJAFwEiCDJ0ONBJVKDxuXTFRzmGgcT+aIQS3MoGeyCFTQ"
    "3QkeMhIBQxhzEiwKJAFwEiBZ+3w8+j01WyDAVpVHX1F7AULG8qYEF16Bfv0nrbbaRBIBRBinARIxCiQBVRIgLXEWQrcmsEQBYnyp"
    "+6wy9chTD7GQPMTbAiWHF5IaSIESB0UyMy50eHQYARIsCiQBcBIgdhOdqgryyLpWhMteOisQP7nCVlhnI0fFWIq0r6QyZscSAUYY"
    "qAEKCggFEgL//ygiMBA="
)
JS_SUB_SHARD = b64decode(
    "EjAKJAFVEiAtcRZCtyawRAFifKn7rDL1yFMPsZA8xNsCJYcXkhpIgRIGNDIudHh0GAESMAokAVUSIC1xFkK3JrBEAWJ8qfusMvXI"
    "Uw+xkDzE2wIlhxeSGkiBEgY3MS50eHQYARIxCiQBVRIgLXEWQrcmsEQBYnyp+6wy9chTD7GQPMTbAiWHF5IaSIESBzkyNi50eHQY"
    "AQoKCAUSAgKQKCIwEA=="
)
"""ipfs-unixfs-importer: the root of a directory of 0.txt to 39.txt (each ``x``), sharded with fanout 16, and
the shard at its place 0."""
