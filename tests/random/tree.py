"""Statements as trees that render as T-SQL and as PostgreSQL's SQL, and how to make a failing one small."""

import time

CASTS = {"int": "int", "num": "numeric(12,2)", "text": "varchar(40)", "date": "date"}


class Node:
    """A type and a template per dialect over children; a list has a separator and a least length instead.

    Types are those of CASTS for values, `condition`, `from`, `query`; `optional` may be left out, others stay as they are."""

    def __init__(self, type, tsql, kids=(), pg=None, sep=None, least=1, value=None):
        self.type, self.tsql, self.pg = type, tsql, tsql if pg is None else pg
        self.kids, self.sep, self.least = list(kids), sep, least
        self.value = value  # of a literal, as it is passed as a parameter
        self.columns = None  # of a query: (name, type)
        self.ordered = False  # a query whose order is certain

    def copy(self):
        node = Node(self.type, self.tsql, [k.copy() for k in self.kids], self.pg, self.sep, self.least, self.value)
        node.columns, node.ordered = self.columns, self.ordered
        return node

    def size(self):
        return 1 + sum(k.size() for k in self.kids)

    def text(self, parameters=None):
        """T-SQL; literals go into the list of parameters, when there is one."""
        if parameters is not None and self.value is not None:
            parameters.append((self.type, self.value))
            return f"@p{len(parameters) - 1}"
        parts = [k.text(parameters) for k in self.kids]
        if self.sep is not None:
            return self.sep.join(parts)
        return self.tsql.format(*parts) if parts else self.tsql

    def pg_text(self):
        parts = [k.pg_text() for k in self.kids]
        if self.sep is not None:
            return self.sep.join(parts)
        return self.pg.format(*parts) if parts else self.pg


def listed(kids, sep=", ", least=1):
    return Node("list", None, kids, sep=sep, least=least)


def optional(template, kid):
    return Node("optional", template, [kid])


def nothing():
    return Node("", "")


def null(type):
    return Node(type, f"cast(null as {CASTS[type]})", value="null")


def constants(type):
    if type == "condition":
        return [Node(type, "(1 = 1)"), Node(type, "(1 = 0)")]
    value = {"int": "1", "num": "cast(1 as numeric(12,2))", "text": "'a'", "date": "cast('2020-01-01' as date)"}[type]
    return [Node(type, value, pg=value + ("::varchar" if type == "text" else "")), null(type)]


def same_below(node, type):
    """The nearest nodes of a type below this one."""
    for kid in node.kids:
        if kid.type == type:
            yield kid
        else:
            yield from same_below(kid, type)


def replacements(node):
    """What may stand in this node's place and is smaller."""
    if node.type == "optional":
        return [nothing()]
    if node.type in CASTS or node.type == "condition":
        return [*same_below(node, node.type), *constants(node.type)] if node.size() > 1 else []
    if node.type in ("from", "query"):
        return list(same_below(node, node.type))
    return []


def shrink(tree, fails, seconds=40):
    """The smallest tree found that fails as the given one does."""
    end = time.time() + seconds
    again = True
    while again and time.time() < end:
        again = False
        for inner in [k for k in tree.kids if k.type == "query"]:
            if fails(inner):
                return shrink(inner, fails, end - time.time())
        places = []

        def collect(node):
            for i, kid in enumerate(node.kids):
                places.append((kid.size(), node, i, kid))
                collect(kid)

        collect(tree)
        for _, parent, i, node in sorted(places, key=lambda p: -p[0]):
            if time.time() > end:
                break
            if i < len(parent.kids) and parent.kids[i] is node:
                again |= drop_items(tree, node, fails) if node.sep is not None else replace(tree, parent, i, fails)
    return tree


def drop_items(tree, node, fails):
    dropped, i = False, 0
    while len(node.kids) > node.least and i < len(node.kids):
        kid = node.kids.pop(i)
        if fails(tree):
            dropped = True
        else:
            node.kids.insert(i, kid)
            i += 1
    return dropped


def replace(tree, parent, i, fails):
    node = parent.kids[i]
    for smaller in replacements(node):
        parent.kids[i] = smaller
        if fails(tree):
            return True
    parent.kids[i] = node
    return False
