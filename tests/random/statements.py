"""Random queries whose meaning is the same in T-SQL and in PostgreSQL."""

import random

from tree import CASTS, Node, listed, nothing, null, optional

TYPES = ["int", "int", "int", "num", "text", "text", "date"]
COMPARE = ["=", "<>", "<", "<=", ">", ">="]
LITERALS = {
    "int": [0, 1, 1, 2, 3, 4, 5, 7, 10, -1, -3],
    "num": ["0", "1", "1.5", "2.25", "-0.75", "3", "10.1", "0.01", "-4"],
    "text": ["", "a", "b", "ab", "B", "abc", "x", "A", "bb", "c1", "1"],
    "date": ["2020-01-01", "2020-02-29", "2021-12-31", "2019-06-15", "2020-01-02"],
}
RECURSIVE = [("lv", "int"), ("i", "int"), ("s", "text")]


def short(template, type):
    """A string cut to the length all have."""
    return f"cast({template} as {CASTS[type]})"


class Generator:
    """Makes queries over tables: (name, [(column, type)]). A scope is a list of (alias, columns); the innermost stands first."""

    def __init__(self, seed, tables):
        self.r = random.Random(seed)
        self.tables = tables
        self.names = 0
        self.ctes = []
        self.budget = 0  # subqueries that may still be made

    def statement(self, depth, budget):
        """A whole query, perhaps with common table expressions."""
        self.ctes, withs = [], []
        while self.chance(0.15):
            self.budget = budget
            withs.append(self.recursive() if self.chance(0.3) else self.cte(depth - 1))
        self.budget = budget
        query = self.query([], depth)
        if self.chance(0.15):
            query = self.limited(query)
        option = Node("", self.r.choice([""] * 6 + [f" option ({o})" for o in (
            "recompile", "hash join", "merge join", "loop join", "force order", "hash group", "order group", "hash union", "merge union")]), pg="")
        if not withs:
            return Node("statement", "{0}{1}", [query, option])
        return Node("statement", "with {0} {1}{2}", [listed(withs), query, option], pg="with recursive {0} {1}{2}")

    def chance(self, p):
        return self.r.random() < p

    def name(self, letter):
        self.names += 1
        return f"{letter}{self.names}"

    # ---- values

    def literal(self, type):
        if self.chance(0.08):
            return null(type)
        v = self.r.choice(LITERALS[type])
        if type == "int":
            return Node(type, str(v) if v >= 0 else f"({v})", value=str(v))
        if type == "text":
            return Node(type, f"'{v}'", pg=f"'{v}'::varchar", value=f"'{v}'")
        v = v if type == "num" else f"'{v}'"
        return Node(type, f"cast({v} as {CASTS[type]})", value=v)

    def column(self, type, scopes):
        """A column of the type, of the inner scope rather than of one around it."""
        found = []
        for i, scope in enumerate(scopes):
            for alias, columns in scope:
                found += [f"{alias}.{c}" for c, t in columns if t == type] * (3 if i == 0 else 2)
        return Node(type, self.r.choice(found)) if found else None

    def value(self, type, scopes, depth, subqueries=True):
        if depth <= 0 or self.chance(0.3):
            column = self.column(type, scopes)
            return column if column and self.chance(0.8) else self.literal(type)
        of = lambda t: self.value(t, scopes, depth - 1, subqueries)
        k = self.r.random()
        if k < 0.12:
            return self.case(type, scopes, depth, of, subqueries)
        if k < 0.32:
            template = self.r.choice(["coalesce({0}, {1})", "coalesce({0}, {1}, {0})", "nullif({0}, {1})", "greatest({0}, {1})", "least({0}, {1})"])
            return Node(type, template, [of(type), of(type)])
        if k < 0.35:
            kids = [self.condition(scopes, depth - 1, subqueries), of(type), of(type)]
            return Node(type, "iif({0}, {1}, {2})", kids, pg="case when {0} then {1} else {2} end")
        if k < 0.47 and subqueries and self.budget > 0:
            return self.scalar_subquery(type, scopes, depth - 1)
        return getattr(self, type + "_function")(of)

    def case(self, type, scopes, depth, of, subqueries):
        otherwise = optional(" else {0}", of(type)) if self.chance(0.7) else nothing()
        if self.chance(0.3):
            subject = self.r.choice(TYPES)
            arms = [Node("arm", "when {0} then {1}", [of(subject), of(type)]) for _ in range(self.r.randint(1, 3))]
            return Node(type, "case {0} {1}{2} end", [of(subject), listed(arms, " "), otherwise])
        arms = [Node("arm", "when {0} then {1}", [self.condition(scopes, depth - 1, subqueries), of(type)]) for _ in range(self.r.randint(1, 3))]
        return Node(type, "case {0}{1} end", [listed(arms, " "), otherwise])

    def int_function(self, of):
        part, letter = self.r.choice(["year", "month", "day"]), self.r.choice(["a", "b", "1"])
        tsql, types, pg = self.r.choice([
            ("({0} + {1})", "ii", None), ("({0} - {1})", "ii", None), ("(({0} * {1}) % 97)", "ii", None),
            ("({0} / nullif({1}, 0))", "ii", None), ("({0} % nullif({1}, 0))", "ii", None), ("abs({0})", "i", None), ("(- {0})", "i", None),
            ("({0} & {1})", "ii", None), ("({0} | {1})", "ii", None), ("({0} ^ {1})", "ii", "({0} # {1})"),
            ("sign({0})", "i", "cast(sign({0}) as int)"), ("len({0})", "t", "length({0})"),
            (f"charindex('{letter}', {{0}})", "t", f"strpos({{0}}, '{letter}')"), ("datediff(day, {0}, {1})", "dd", "({1} - {0})"),
            (f"{part}({{0}})", "d", f"cast(extract({part} from {{0}}) as int)"), ("cast({0} as int)", "n", "cast(trunc({0}) as int)"),
        ])
        return self.made("int", tsql, types, pg, of)

    def num_function(self, of):
        tsql, types, pg = self.r.choice([
            (short("{0} + {1}", "num"), "nn", None), (short("{0} - {1}", "num"), "nn", None), (short("({0} * {1}) % 1000", "num"), "nn", None),
            (short("{0} * {1} % 1000", "num"), "ni", None), (short("{0}", "num"), "i", None), (short("round({0}, 1)", "num"), "n", None),
            ("abs({0})", "n", None), (short("floor({0})", "num"), "n", None), (short("ceiling({0})", "num"), "n", None),
        ])
        return self.made("num", tsql, types, pg, of)

    def text_function(self, of):
        start, length, letter = self.r.randint(1, 3), self.r.randint(0, 3), self.r.choice(["a", "b", "ab"])
        tsql, types, pg = self.r.choice([
            (short("{0} + {1}", "text"), "tt", short("{0} || {1}", "text")), (short("concat({0}, {1})", "text"), "tt", None),
            (short("concat({0}, {1})", "text"), "ti", None), ("upper({0})", "t", None), ("lower({0})", "t", None), ("reverse({0})", "t", None),
            (f"substring({{0}}, {start}, {length})", "t", None), (f"left({{0}}, {length})", "t", None), (f"right({{0}}, {length})", "t", None),
            (short(f"replace({{0}}, '{letter}', {{1}})", "text"), "tt", None), (short("{0}", "text"), "i", None), (short("{0}", "text"), "n", None),
            (short("{0}", "text"), "d", None), ("convert(varchar(10), {0}, 23)", "d", "to_char({0}, 'YYYY-MM-DD')::varchar"),
        ])
        return self.made("text", tsql, types, pg, of)

    def date_function(self, of):
        tsql, types, pg = self.r.choice([
            ("dateadd(day, {0} % 100, {1})", "id", "({1} + cast({0} % 100 as int))"),
            ("eomonth({0})", "d", "cast(date_trunc('month', {0}) + interval '1 month' - interval '1 day' as date)"),
        ])
        return self.made("date", tsql, types, pg, of)

    def made(self, type, tsql, types, pg, of):
        whole = {"i": "int", "n": "num", "t": "text", "d": "date"}
        return Node(type, tsql, [of(whole[t]) for t in types], pg)

    def scalar_subquery(self, type, scopes, depth):
        self.budget -= 1
        source, scope = self.source(scopes, depth, few=True)
        where = self.where([scope, *scopes], depth)
        if self.chance(0.6):
            return Node(type, "(select {0} from {1}{2})", [self.aggregate(type, [scope], depth), source, where])
        name = self.name("o")
        return Node(type, f"(select top (1) {{0}} as {name} from {{1}}{{2}} order by {name})", [self.value(type, [scope, *scopes], depth), source, where],
                    pg=f"(select {{0}} as {name} from {{1}}{{2}} order by {name} nulls first limit 1)")

    def aggregate(self, type, scopes, depth):
        of = lambda t: self.value(t, scopes, min(depth, 2), subqueries=False)
        k = self.r.random()
        if type == "int" and k < 0.3:
            template = self.r.choice(["count(*)", "count({0})", "count(distinct {0})"])
            return Node(type, template, [of(self.r.choice(TYPES))] if "{" in template else [])
        if type == "int" and k < 0.7:
            return Node(type, self.r.choice(["sum({0} % 1000)", "sum(distinct {0} % 1000)"]), [of(type)])
        if type == "int" and k < 0.8:
            return Node(type, "avg({0} % 1000)", [of(type)], pg="(sum({0} % 1000) / count({0} % 1000))")
        if type == "num" and k < 0.6:
            return Node(type, self.r.choice(["sum({0})", "sum(distinct {0})"]), [of(type)])
        if type == "text" and k < 0.3 and (column := self.column(type, scopes)):
            return Node(type, short("string_agg({0}, ',') within group (order by {0})", type), [column], pg=short("string_agg({0}, ',' order by {0})", type))
        return Node(type, self.r.choice(["min({0})", "max({0})"]), [of(type)])

    # ---- conditions

    def condition(self, scopes, depth, subqueries=True):
        of = lambda t: self.value(t, scopes, depth - 1, subqueries)
        is_not, type, k = self.r.choice([" not", ""]), self.r.choice(TYPES), self.r.random()
        if depth > 0 and k < 0.26:
            parts = [self.condition(scopes, depth - 1, subqueries) for _ in range(self.r.randint(2, 3))]
            return Node("condition", "({0})", [listed(parts, self.r.choice([" and ", " or "]))])
        if depth > 0 and k < 0.34:
            return Node("condition", "(not {0})", [self.condition(scopes, depth - 1, subqueries)])
        if depth > 0 and k < 0.52 and subqueries and self.budget > 0:
            return self.subquery_condition(type, scopes, depth)
        if k < 0.6:
            return Node("condition", f"({{0}} is{is_not} null)", [of(type)])
        if k < 0.66:
            return Node("condition", f"({{0}}{is_not} between {{1}} and {{2}})", [of(type), of(type), of(type)])
        if k < 0.75:
            items = [of(type) if self.chance(0.3) else self.literal(type) for _ in range(self.r.randint(1, 4))]
            return Node("condition", f"({{0}}{is_not} in ({{1}}))", [of(type), listed(items)])
        if k < 0.8:
            pattern = self.r.choice(["a%", "%b", "_", "%a%", "ab", "", "%", "_b%", "a_c"])
            return Node("condition", f"({{0}}{is_not} like '{pattern}')", [of("text")])
        if k < 0.84:
            return Node("condition", f"({{0}} is{is_not} distinct from {{1}})", [of(type), of(type)])
        return Node("condition", f"({{0}} {self.r.choice(COMPARE + ['=', '='])} {{1}})", [of(type), of(type)])

    def subquery_condition(self, type, scopes, depth):
        self.budget -= 1
        exists, k = self.r.choice(["exists", "not exists"]), self.r.random()
        if k < 0.4:
            source, scope = self.source(scopes, depth - 1, few=True)
            return Node("condition", f"{exists} (select 1 as one from {{0}}{{1}})", [source, self.where([scope, *scopes], depth - 1)])
        query = self.query(scopes, depth - 1, [type])
        if k < 0.46:
            return Node("condition", f"{exists} ({{0}})", [query])
        test = self.r.choice(["in", "not in"]) if k < 0.8 else self.r.choice(COMPARE) + self.r.choice([" any", " all"])
        return Node("condition", f"({{0}} {test} ({{1}}))", [self.value(type, scopes, depth - 1), query])

    def having(self, scope, scopes, depth):
        type = self.r.choice(TYPES)
        aggregate = self.aggregate(type, [scope], depth)
        if self.budget > 0 and self.chance(0.3):
            self.budget -= 1
            test = self.r.choice(["in", "not in", "> all", "= any", "<= any", "<> all"])
            return Node("condition", f"({{0}} {test} ({{1}}))", [aggregate, self.query(scopes, max(depth - 1, 0), [type])])
        return Node("condition", f"({{0}} {self.r.choice(COMPARE)} {{1}})", [aggregate, self.literal(type)])

    def where(self, scopes, depth):
        return optional(" where {0}", self.condition(scopes, depth)) if self.chance(0.7) else nothing()

    # ---- FROM

    def source(self, scopes, depth, few=False):
        source, scope = self.table(depth)
        for _ in range(self.r.choice([0, 0, 1] if few else [0, 1, 1, 1, 2, 2, 3])):
            source, scope = self.join(source, scope, scopes, depth)
        return source, scope

    def table(self, depth):
        alias, k = self.name("t"), self.r.random()
        if k < 0.72 or depth <= 0 or self.budget <= 0:
            name, columns = self.r.choice(self.ctes if self.ctes and k < 0.25 else self.tables)
            return Node("from", f"{name} as {alias}"), [(alias, columns)]
        self.budget -= 1
        if k < 0.78:
            types = [self.r.choice(TYPES) for _ in range(self.r.randint(1, 3))]
            rows = []
            for _ in range(self.r.randint(1, 4)):
                cells = [self.literal(t) for t in types]
                if not rows:  # the first row gives the types
                    cells = [Node(c.type, short("{0}", c.type), [c]) for c in cells]
                rows.append(Node("row", "({0})", [listed(cells, least=len(cells))]))
            columns = [(self.name("v"), t) for t in types]
            return Node("from", f"(values {{0}}) as {alias} ({', '.join(c for c, _ in columns)})", [listed(rows)]), [(alias, columns)]
        query = self.query([], depth - 1)
        return Node("from", f"({{0}}) as {alias}", [query]), [(alias, query.columns)]

    def join(self, left, scope, scopes, depth):
        if self.budget > 0 and depth > 0 and self.chance(0.12):
            self.budget -= 1
            query, alias = self.query([scope, *scopes], depth - 1), self.name("l")
            kind, pg, on = self.r.choice([("cross apply", "cross join lateral", ""), ("outer apply", "left join lateral", " on true")])
            return Node("from", f"{{0}} {kind} ({{1}}) as {alias}", [left, query], pg=f"{{0}} {pg} ({{1}}) as {alias}{on}"), [*scope, (alias, query.columns)]
        right, added = self.table(depth)
        if self.chance(0.2):
            right, added = self.join(right, added, scopes, depth - 1)
            right = Node("from", "({0})", [right])
        both = scope + added
        if self.chance(0.06):
            return Node("from", "{0} cross join {1}", [left, right]), both
        kind = self.r.choice(["join", "join", "left join", "left join", "right join", "full join"])
        type, conditions = self.r.choice(["int", "int", "text"]), []
        x, y = self.column(type, [scope]), self.column(type, [added])
        if x and y and (kind == "full join" or self.chance(0.85)):
            conditions.append(Node("condition", "({0} = {1})", [x, y]))
        hinted = kind
        if conditions and self.chance(0.12):
            algorithm = self.r.choice(["hash", "merge", "hash" if kind[:4] in ("righ", "full") else "loop"])
            hinted = f"{'inner' if kind == 'join' else kind[:-5]} {algorithm} join"
        elif not conditions or (kind != "full join" and self.chance(0.35)):
            # PostgreSQL wants an equality for a full join.
            kind = hinted = kind if conditions or kind != "full join" else "left join"
            conditions.append(self.condition([both, *scopes], depth - 1))
        return Node("from", f"{{0}} {hinted} {{1}} on {{2}}", [left, right, listed(conditions, " and ")], pg=f"{{0}} {kind} {{1}} on {{2}}"), both

    # ---- queries

    def query(self, scopes, depth, types=None):
        types = types or [self.r.choice(TYPES) for _ in range(self.r.randint(1, 4))]
        k = self.r.random()
        if k < 0.14 and depth > 0:
            return self.set_operation(scopes, depth, types)
        source, scope = self.source(scopes, depth)
        inner = [scope, *scopes]
        tail = nothing()
        if k < 0.4:
            values, tail = self.grouped(scope, scopes, depth, types)
        elif k < 0.52:
            values = self.windowed(scope, inner, depth, types)
        else:
            values = [self.value(t, inner, depth) for t in types]
        columns = [(self.name("c"), t) for t in types]
        items = listed([Node("item", f"{{0}} as {c}", [v]) for v, (c, _) in zip(values, columns)])
        distinct = optional("distinct ", nothing()) if self.chance(0.2) else nothing()
        query = Node("query", "select {0}{1} from {2}{3}{4}", [distinct, items, source, self.where(inner, depth), tail])
        query.columns = columns
        return self.limited(query) if self.chance(0.1) else query

    def set_operation(self, scopes, depth, types):
        result = None
        for _ in range(self.r.choice([2, 2, 2, 3])):
            query = self.query(scopes, depth - 1, types)
            if query.ordered or " order by " in query.tsql:
                # T-SQL takes no ORDER BY beside UNION.
                alias = self.name("u")
                inner, query = query, Node("query", f"select {alias}.* from ({{0}}) as {alias}", [query])
                query.columns = inner.columns
            if result is None:
                result = query
                continue
            columns = result.columns
            result = Node("query", f"({{0}}) {self.r.choice(['union', 'union all', 'except', 'intersect'])} ({{1}})", [result, query])
            result.columns = columns
        return result

    def limited(self, query):
        """Some rows of a query in the order of all its columns, or with all that are level with the last one."""
        alias, count, skip = self.name("w"), self.r.randint(1, 6), self.r.randint(0, 4)
        keys = [(f"{alias}.{c}", self.r.choice(["", " desc"])) for c, _ in query.columns]
        k = self.r.random()
        if k < 0.17:
            keys = keys[: self.r.randint(1, len(keys))]
        order = ", ".join(c + d for c, d in keys)
        pg = f"select {alias}.* from ({{0}}) as {alias} order by " + pg_order(keys)
        if k < 0.17:
            limited = Node("query", f"select top ({count}) with ties {alias}.* from ({{0}}) as {alias} order by {order}", [query], pg=f"{pg} fetch first {count} rows with ties")
        elif k < 0.5:
            limited = Node("query", f"select top ({count}) {alias}.* from ({{0}}) as {alias} order by {order}", [query], pg=f"{pg} limit {count}")
        else:
            limited = Node("query", f"select {alias}.* from ({{0}}) as {alias} order by {order} offset {skip} rows fetch next {count} rows only", [query],
                           pg=f"{pg} offset {skip} limit {count}")
        limited.columns, limited.ordered = query.columns, k >= 0.17
        return limited

    def grouped(self, scope, scopes, depth, types):
        """The values of a select list over groups, and GROUP BY with HAVING."""
        keys = []
        for type in [self.r.choice(TYPES) for _ in range(self.r.randint(0, 3))]:
            key = self.column(type, [scope])
            if key and self.chance(0.25):
                template = {"int": "({0} % 3)", "text": "upper({0})", "num": "abs({0})", "date": "coalesce({0}, {0})"}[type]
                key = Node(type, template, [key])
            if key and key.text() not in [k.text() for k in keys]:
                keys.append(key)
        values = []
        for type in types:
            own = [k for k in keys if k.type == type]
            k = self.r.random()
            if own and k < 0.5:
                values.append(self.r.choice(own).copy())
            elif k < 0.8:
                values.append(self.aggregate(type, [scope], depth))
            elif k < 0.86 and type == "int":
                values.append(Node(type, "rank() over (order by {0})", [self.aggregate(type, [scope], 1)], pg="rank() over (order by {0} nulls first)"))
            elif k < 0.92 and type in ("int", "num"):
                part = [self.r.choice(keys).copy()] if keys else []
                template = self.r.choice(["sum", "max"]) + ("({0}) over (partition by {1})" if part else "({0}) over ()")
                values.append(Node(type, template, [self.aggregate(type, [scope], 1), *part]))
            else:
                other = self.r.choice(own).copy() if own else self.literal(type)
                values.append(Node(type, self.r.choice(["coalesce({0}, {1})", "nullif({0}, {1})"]), [self.aggregate(type, [scope], depth), other]))
        by = self.group_by(keys, values) if keys else nothing()
        having = optional(" having {0}", self.having(scope, scopes, depth)) if self.chance(0.25) else nothing()
        if not keys and having.type == "":
            # Without groups something has to be an aggregate.
            values[0] = self.aggregate(types[0], [scope], depth)
        return values, Node("tail", "{0}{1}", [by, having])

    def group_by(self, keys, values):
        copies = [k.copy() for k in keys]
        k = self.r.random()
        if k < 0.65:
            return Node("groups", " group by {0}", [listed(copies)])
        for i, value in enumerate(values):
            if value.type == "int" and self.chance(0.2):
                values[i] = Node("int", "cast(grouping({0}) as int)", [self.r.choice(keys).copy()])
        if k < 0.85:
            return Node("groups", f" group by {self.r.choice(['rollup', 'cube'])} ({{0}})", [listed(copies)])
        chosen = [[key for key in copies if self.chance(0.6)] for _ in range(self.r.randint(0, 3))] + [copies]
        sets = [Node("set", "({0})", [listed([key.copy() for key in one], least=len(one))]) for one in chosen]
        return Node("groups", " group by grouping sets ({0})", [listed(sets)])

    def windowed(self, scope, inner, depth, types):
        """Values with window functions. Those that count rows have one order, over all columns: what they give to equal rows is
        the same then, however these are ordered."""
        columns = [f"{alias}.{c}" for alias, found in scope for c, _ in found]
        partition = lambda: ", ".join(self.r.sample(columns, min(len(columns), self.r.choice([0, 1, 1, 2]))))
        by = lambda names: f"partition by {names} " if names else ""
        whole = [(c, self.r.choice(["", " desc"])) for c in self.r.sample(columns, len(columns))]
        rows_by = by(partition())
        values = []
        for type in types:
            of = lambda t: self.value(t, [scope], 1, subqueries=False)
            k = self.r.random()
            if k < 0.25:
                values.append(self.value(type, inner, depth))
                continue
            kids, frame, order, part = [of(type)], self.range_frame(), whole[: self.r.randint(1, 2)], by(partition())
            if k < 0.4:
                function = self.r.choice(["min({0})", "max({0})"])
            elif k < 0.6 and type == "int":
                function = self.r.choice(["rank()", "dense_rank()", "sum({0} % 1000)", "count({0})", "count(*)"])
                frame = "" if "rank" in function else frame
            else:
                function = self.r.choice(["lag({0})", "lead({0}, 1, {1})", "lag({0}, 2)", "first_value({0})", "last_value({0})", "min({0})"] + (["row_number()", "ntile(3)", "sum({0} % 1000)"] if type == "int" else []))
                kids = [Node(type, short("{0}", type), [kids[0]]), self.literal(type)]
                frame = self.rows_frame() if function[:3] in ("fir", "las", "min", "sum") else ""
                order, part = whole, rows_by
            kids = kids[: function.count("{")]
            tsql, pg = ", ".join(c + d for c, d in order), pg_order(order)
            values.append(Node(type, f"{function} over ({part}order by {tsql}{frame})", kids, pg=f"{function} over ({part}order by {pg}{frame})"))
        return values

    def range_frame(self):
        return self.r.choice(["", " range between unbounded preceding and current row", " range between current row and unbounded following",
                              " range between unbounded preceding and unbounded following"])

    def rows_frame(self):
        ends = ["unbounded preceding", "2 preceding", "1 preceding", "current row", "1 following", "3 following", "unbounded following"]
        i = self.r.randint(0, 5)
        return f" rows between {ends[i]} and {ends[self.r.randint(max(i, 1), 6)]}"

    def cte(self, depth):
        query, name = self.query([], depth), self.name("e")
        self.ctes.append((name, query.columns))
        return Node("cte", f"{name} as ({{0}})", [query])

    def recursive(self):
        name, first, next_ = self.name("r"), self.name("t"), self.name("t")
        (table, columns), (other, others) = self.r.choice(self.tables), self.r.choice(self.tables)
        start, step = [[(first, columns)]], [[(name, RECURSIVE), (next_, others)]]
        of = lambda t, scopes: self.value(t, scopes, 1, subqueries=False)
        kids = [of("int", start), of("text", start), of("int", step), of("text", step),
                self.column("int", [[(next_, others)]]) or self.literal("int"), self.condition(step, 1, subqueries=False)]
        self.ctes.append((name, RECURSIVE))
        return Node("cte", f"{name} (lv, i, s) as (select 1, {short('{0}', 'int')}, {short('{1}', 'text')} from {table} as {first} union all "
                    f"select {name}.lv + 1, {short('{2}', 'int')}, {short('{3}', 'text')} from {name} join {other} as {next_} on {name}.i = {{4}} "
                    f"where {name}.lv < 3 and {{5}})", kids)


def pg_order(keys):
    """Keys of an order with NULL as the least value, as it is in T-SQL."""
    return ", ".join(f"{c}{d} nulls {'last' if d else 'first'}" for c, d in keys)
