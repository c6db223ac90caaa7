"""Ids that sort by the time of their making: 48 bits of Unix milliseconds, 80 of chance, in Crockford's base 32."""

from os import urandom  # bound here: a cell may replace those of the module

_ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'


def ulid(milliseconds):
    number = milliseconds << 80 | int.from_bytes(urandom(10), 'big')
    return ''.join(_ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))
