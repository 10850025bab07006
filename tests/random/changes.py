"""Random INSERT, UPDATE, DELETE and MERGE whose meaning is the same in T-SQL and in PostgreSQL: no row is changed by two rows."""

from statements import Generator
from tree import Node, listed, nothing, optional


class Changes(Generator):
    """Makes changes of tables, which all have a unique `id` above zero; `targets` are those that are no views."""

    def __init__(self, seed, tables, targets):
        super().__init__(seed, tables)
        self.targets = targets

    def change(self, depth, budget):
        self.ctes, self.budget = [], budget
        name, columns = self.r.choice(self.targets)
        columns = [(c, t) for c, t in columns if c != "cc"]
        kind = self.r.choice([self.update, self.update, self.update_from, self.delete, self.insert, self.merge])
        return kind(name, columns, depth)

    def settings(self, columns, scopes, depth, subqueries=True):
        """What SET assigns. An id stays unique when its sign changes, or when it grows by more than there are."""
        chosen = self.r.sample(columns[1:], self.r.randint(1, min(3, len(columns) - 1)))
        items = [Node("item", f"{c} = {{0}}", [self.value(t, scopes, depth, subqueries)]) for c, t in chosen]
        if self.chance(0.15):
            alias = scopes[0][0][0]
            items.append(Node("item", self.r.choice([f"id = -{alias}.id", f"id = {alias}.id + 10000"])))
        return listed(items)

    def returned(self, name, columns, alias):
        """OUTPUT, and what is RETURNING in its place."""
        if self.chance(0.4):
            return nothing(), nothing()
        chosen = self.r.sample(columns, self.r.randint(1, len(columns)))
        return (Node("output", " output " + ", ".join(f"{name}.{c}" for c, _ in chosen), pg=""),
                Node("output", "", pg=" returning " + ", ".join(f"{alias}.{c}" for c, _ in chosen)))

    def update(self, name, columns, depth):
        alias = self.name("u")
        scopes = [[(alias, columns)]]
        output, returning = self.returned("inserted", columns, alias)
        return Node("change", f"update {alias} set {{0}}{{1}} from {name} as {alias}{{2}}{{3}}",
                    [self.settings(columns, scopes, depth), output, self.where(scopes, depth), returning],
                    pg=f"update {name} as {alias} set {{0}}{{2}}{{3}}")

    def update_from(self, name, columns, depth):
        """From another table, or the same, by its id."""
        alias, other = self.name("u"), self.name("o")
        source, others = self.r.choice(self.targets)
        scopes = [[(alias, columns), (other, others)]]
        output, returning = self.returned("inserted", columns, alias)
        by = f"{other}.id = {alias}.{self.r.choice([c for c, t in columns if t == 'int'])}"
        return Node("change", f"update {alias} set {{0}}{{1}} from {name} as {alias} join {source} as {other} on {by} where {{2}}{{3}}",
                    [self.settings(columns, scopes, depth), output, self.condition(scopes, depth), returning],
                    pg=f"update {name} as {alias} set {{0}} from {source} as {other} where {by} and {{2}}{{3}}")

    def delete(self, name, columns, depth):
        alias = self.name("u")
        scopes = [[(alias, columns)]]
        output, returning = self.returned("deleted", columns, alias)
        return Node("change", f"delete {alias}{{0}} from {name} as {alias} where {{1}}{{2}}",
                    [output, self.condition(scopes, depth), returning], pg=f"delete from {name} as {alias} where {{1}}{{2}}")

    def insert(self, name, columns, depth):
        """From rows of any table, under ids of their own."""
        alias, output_of = self.name("o"), columns
        source, others = self.r.choice(self.targets)
        scopes = [[(alias, others)]]
        output, returning = self.returned("inserted", output_of, name)
        values = [Node("item", f"{alias}.id + 1000")] + [Node("item", "{0}", [self.value(t, scopes, depth)]) for _, t in columns[1:]]
        names = ", ".join(c for c, _ in columns)
        return Node("change", f"insert into {name} ({names}){{0}} select {{1}} from {source} as {alias}{{2}}{{3}}",
                    [output, listed(values, least=len(values)), self.where(scopes, depth), returning])

    def merge(self, name, columns, depth):
        """With rows of any table by their ids, moved by a little."""
        alias, rows, given = self.name("u"), self.name("s"), self.name("o")
        source, others = self.r.choice(self.targets)
        values = [(c, t) for c, t in others if c != "id"]
        using = Node("using", f"(select {given}.id + {self.r.choice([0, 0, 1, 3])} as k, {', '.join(f'{given}.{c}' for c, _ in values)} from {source} as {given}{{0}})",
                     [self.where([[(given, others)]], depth)])
        theirs = [(rows, [("k", "int"), *values])]
        both = [[(alias, columns), *theirs]]
        matched = [Node("when", " when matched{0} then update set {1}",
                        [optional(" and {0}", self.condition(both, depth - 1, False)), self.settings(columns, both, depth - 1, False)])]
        if self.chance(0.4):
            matched = [Node("when", " when matched and {0} then delete", [self.condition(both, depth - 1, False)]),
                       Node("when", " when matched then update set {0}", [self.settings(columns, both, depth - 1, False)])]
        inserted = ", ".join(f"{{{i}}}" for i in range(len(columns) - 1))
        otherwise = Node("when", f" when not matched then insert ({', '.join(c for c, _ in columns)}) values ({rows}.k + 2000, {inserted})",
                         [self.value(t, [theirs], depth - 1, False) for _, t in columns[1:]])
        whens = listed([*matched, otherwise] if self.chance(0.7) else matched, "", least=1)
        target = f"merge into {name} as {alias} using {{0}} as {rows} on {alias}.id = {rows}.k{{1}}"
        return Node("change", target + ";", [using, whens], pg=target)
