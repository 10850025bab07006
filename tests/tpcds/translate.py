"""DuckDB's texts of the TPC-DS queries in the words of the others.

Rules, so that a query means the same everywhere: a quotient and an average of whole numbers have decimals (in T-SQL
they would be whole), NULLs sort first, LIMIT is TOP, a date plus a number is DATEADD, and an expression of ORDER BY
does not name a column of the result.
"""
import sqlglot
from sqlglot import exp


def duckdb(query):
    """The query for DuckDB itself, with the order of NULLs left to its setting."""
    tree = sqlglot.parse_one(query, read="duckdb")
    return tree.transform(nulls).sql(dialect="duckdb", comments=False)


def nulls(node):
    if isinstance(node, exp.Ordered):
        node.set("nulls_first", not node.args.get("desc"))
    return node


def without_limit(query):
    """The query without its outer LIMIT: what ties cut off is not the same twice."""
    tree = sqlglot.parse_one(query, read="duckdb")
    tree.set("limit", None)
    return tree.sql(dialect="duckdb", comments=False)


def has_limit(query):
    return sqlglot.parse_one(query, read="duckdb").args.get("limit") is not None


def order_by_results(tree):
    """Expressions of ORDER BY with names of results have what the results are computed from."""
    for select in tree.find_all(exp.Select):
        order = select.args.get("order")
        if not order:
            continue
        named = {e.alias: e.this for e in select.expressions if isinstance(e, exp.Alias)}
        for key in order.expressions:
            if isinstance(key.this, exp.Column):
                continue
            for column in list(key.this.find_all(exp.Column)):
                if not column.table and column.name in named:
                    column.replace(exp.paren(named[column.name].copy()))


def rounded(node):
    """ROUND takes its digits."""
    if isinstance(node, exp.Round) and not node.args.get("decimals"):
        node.set("decimals", exp.Literal.number(0))
    return node


def common(node):
    if isinstance(node, exp.Div):
        node.set("this", exp.cast(exp.paren(node.this), "double"))
    return nulls(node)


def tsql(query):
    def rule(node):
        node = rounded(common(node))
        if isinstance(node, exp.Avg):
            node.set("this", exp.Mul(this=exp.Literal.number("1.0"), expression=exp.paren(node.this)))
        if isinstance(node, exp.StddevSamp):
            return exp.Anonymous(this="STDEV", expressions=[node.this])
        if isinstance(node, exp.Add) and isinstance(node.this, exp.Column) and node.this.name == "d_date":
            by = node.expression
            by = by.this if isinstance(by, exp.Interval) else by
            return exp.Anonymous(this="DATEADD", expressions=[exp.var("day"), by, node.this])
        return node

    tree = sqlglot.parse_one(query, read="duckdb")
    order_by_results(tree)
    return tree.transform(rule).sql(dialect="tsql", comments=False)


def postgres(query):
    def rule(node):
        node = common(node)
        if isinstance(node, exp.Round):
            node.set("this", exp.cast(exp.paren(node.this), "decimal(30, 10)"))
        return node

    tree = sqlglot.parse_one(query, read="duckdb")
    order_by_results(tree)
    return tree.transform(rule).sql(dialect="postgres", comments=False)
