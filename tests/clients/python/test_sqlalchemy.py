"""SQLAlchemy over Microsoft's ODBC driver, with Alembic: declare, create, reflect, compare, query, page, bulk."""

import datetime as dt
import decimal
import os

import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.operations import Operations
from harness import DATABASE, HOST, PASSWORD, PORT, USER, check, equal, run
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship, selectinload

driver = os.environ.get("KEEL_SQLALCHEMY_DRIVER", "pyodbc")
query = {}
if driver == "pyodbc":
    query = {"driver": "ODBC Driver 18 for SQL Server", "TrustServerCertificate": "yes"}
url = sa.URL.create(f"mssql+{driver}", USER, PASSWORD, HOST, PORT, DATABASE, query=query)
engine = sa.create_engine(url)


class Base(DeclarativeBase):
    pass


class Author(Base):
    __tablename__ = "author"
    id: Mapped[int] = mapped_column(sa.Integer, sa.Identity(start=5, increment=2), primary_key=True)
    name: Mapped[str] = mapped_column(sa.Unicode(50), unique=True, comment="as printed")
    price: Mapped[decimal.Decimal] = mapped_column(sa.Numeric(10, 2), server_default=sa.text("1.5"))
    made: Mapped[dt.datetime] = mapped_column(sa.DateTime, server_default=sa.func.getdate())
    books: Mapped[list["Book"]] = relationship(back_populates="author")
    __table_args__ = (
        sa.CheckConstraint("price > 0", name="ck_price"),
        sa.Index("ix_price", "price", mssql_where=sa.text("price >= 5")),
        {"comment": "who writes"},
    )


class Book(Base):
    __tablename__ = "book"
    id: Mapped[int] = mapped_column(sa.BigInteger, sa.Sequence("book_seq"), primary_key=True)
    title: Mapped[str] = mapped_column(sa.UnicodeText)
    kind: Mapped[str | None] = mapped_column(sa.String(5), index=True)
    author_id: Mapped[int] = mapped_column(sa.ForeignKey(Author.id, ondelete="CASCADE"))
    author: Mapped[Author] = relationship(back_populates="books")


@check
def create():
    Base.metadata.create_all(engine)
    with engine.connect() as connection:
        equal(connection.get_isolation_level(), "READ COMMITTED")


@check
def reflect():
    inspector = sa.inspect(engine)
    columns = {c["name"]: c for c in inspector.get_columns("author")}
    equal(columns["id"]["identity"], {"start": 5, "increment": 2})
    equal((columns["price"]["default"], columns["made"]["default"]), ("((1.5))", "(getdate())"))
    equal(columns["name"]["comment"], "as printed")
    equal(inspector.get_table_comment("author")["text"], "who writes")
    key = inspector.get_pk_constraint("author")
    equal((key["constrained_columns"], key["dialect_options"]), (["id"], {"mssql_clustered": True}))
    filtered = [i for i in inspector.get_indexes("author") if i["name"] == "ix_price"]
    equal(filtered[0]["dialect_options"]["mssql_where"], "([price]>=(5))")
    equal(inspector.get_foreign_keys("book")[0]["options"], {"ondelete": "CASCADE"})
    equal(inspector.get_sequence_names(), ["book_seq"])


@check
def nothing_to_migrate():
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_server_default": True, "compare_type": True})
        equal(compare_metadata(context, Base.metadata), [])


@check
def migrate():
    with engine.begin() as connection:
        context = MigrationContext.configure(connection)
        op = Operations(context)
        op.add_column("book", sa.Column("pages", sa.Integer, nullable=False, server_default="0"))
        op.alter_column("book", "kind", new_column_name="sort", existing_type=sa.String(5))
        op.alter_column("book", "pages", server_default=None, existing_server_default="0", existing_type=sa.Integer)
        op.alter_column("book", "pages", type_=sa.BigInteger, existing_nullable=False)
        op.alter_column("book", "pages", server_default=sa.text("6"), existing_type=sa.BigInteger)
        op.alter_column(
            "book", "pages", server_default=sa.text("7"), existing_server_default="6", existing_type=sa.BigInteger
        )
        op.create_unique_constraint("uq_title", "author", ["name", "price"])
        op.drop_constraint("uq_title", "author", type_="unique")
        op.drop_column("book", "pages", mssql_drop_default=True)
        op.alter_column("book", "sort", new_column_name="kind", existing_type=sa.String(5))
    nothing_to_migrate()


@check
def objects():
    with Session(engine) as session:
        author = Author(name="Ann", price=decimal.Decimal("12.34"))
        author.books = [Book(title=f"t{i:03}", kind="x") for i in range(120)]
        session.add(author)
        session.commit()
        equal((author.id, author.price), (5, decimal.Decimal("12.34")))
        page = sa.select(Book.title).order_by(Book.title)
        equal(session.scalars(page.limit(2)).all(), ["t000", "t001"])
        equal(session.scalars(page.offset(5).limit(2)).all(), ["t005", "t006"])
        loaded = session.scalars(sa.select(Author).options(selectinload(Author.books))).one()
        equal(len(loaded.books), 120)


@check
def rollback_and_errors():
    with Session(engine) as session:
        session.add(Author(name="Bob"))
        session.flush()
        with session.begin_nested() as savepoint:
            session.add(Author(name="Cyd"))
            session.flush()
            savepoint.rollback()
        equal(session.scalars(sa.select(Author.name).order_by(Author.name)).all(), ["Ann", "Bob"])
        session.rollback()
        session.add(Author(name="Ann"))
        try:
            session.flush()
        except sa.exc.IntegrityError as error:
            assert "2627" in str(error), error
        else:
            raise AssertionError("a duplicate was taken")
        session.rollback()


@check
def many_rows():
    with Session(engine) as session:
        session.execute(sa.insert(Author), [{"name": f"n{i}"} for i in range(1500)])
        returned = session.scalars(
            sa.insert(Author).returning(Author.id, sort_by_parameter_order=True), [{"name": f"m{i}"} for i in range(300)]
        ).all()
        equal(returned, sorted(returned))
        equal(session.scalar(sa.select(sa.func.count()).select_from(Author)), 1801)
        session.commit()


@check
def temporary_tables():
    with engine.connect() as connection:
        table = sa.Table("#scratch", sa.MetaData(), sa.Column("a", sa.Integer, primary_key=True), sa.Column("b", sa.Unicode(9)))
        table.create(connection)
        columns = sa.inspect(connection).get_columns("#scratch")
        equal([c["name"] for c in columns], ["a", "b"])


@check
def drop():
    Base.metadata.drop_all(engine)
    equal(sa.inspect(engine).get_table_names(), [])


if __name__ == "__main__":
    run(f"sqlalchemy-{driver}")
