"""The forms of ids in paths: {run_id:id} and {name:hash}. A path of another form is another path.

So a word such as /runs/names is never taken for the id of a run, by no method.
"""

from starlette.convertors import StringConvertor, register_url_convertor


class IdConvertor(StringConvertor):
    """A number; FastAPI checks how large it may be."""

    regex = "[0-9]+"


class HashConvertor(StringConvertor):
    """A SHA-256 in small hexadecimal digits."""

    regex = "[0-9a-f]{64}"


register_url_convertor("id", IdConvertor())
register_url_convertor("hash", HashConvertor())
