"""Django over Microsoft's ODBC driver: its own migrations, its schema editor, and a slice of its queries."""

import datetime as dt
import decimal
import sys
import types
import uuid

import django
from django.conf import settings
from harness import DATABASE, HOST, PASSWORD, PORT, USER, check, equal, run

# An application without files of its own: relations are found among installed ones only.
shop = types.ModuleType("shop")
shop.__file__ = __file__
sys.modules["shop"] = shop

settings.configure(
    SECRET_KEY="x",
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "django.contrib.sessions", "shop"],
    MIGRATION_MODULES={"shop": None},
    DATABASES={
        "default": {
            "ENGINE": "mssql",
            "NAME": DATABASE,
            "USER": USER,
            "PASSWORD": PASSWORD,
            "HOST": HOST,
            "PORT": str(PORT),
            "OPTIONS": {
                "driver": "ODBC Driver 18 for SQL Server",
                "extra_params": "TrustServerCertificate=yes",
            },
        }
    },
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    USE_TZ=True,
)
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import IntegrityError, connection, models, transaction  # noqa: E402
from django.db.models import Avg, Case, Count, Exists, F, OuterRef, Subquery, Sum, Value, When, Window  # noqa: E402
from django.db.models.functions import ExtractYear, RowNumber, TruncDay, Upper  # noqa: E402


class Author(models.Model):
    name = models.CharField(max_length=50, unique=True)
    born = models.DateField(null=True)

    class Meta:
        app_label = "shop"


class Book(models.Model):
    title = models.CharField(max_length=100, db_index=True)
    author = models.ForeignKey(Author, on_delete=models.CASCADE, related_name="books")
    price = models.DecimalField(max_digits=8, decimal_places=2)
    sold = models.BooleanField(default=False)
    at = models.DateTimeField(auto_now_add=True)
    data = models.JSONField(default=dict)
    uid = models.UUIDField(null=True)
    took = models.DurationField(null=True)

    class Meta:
        app_label = "shop"
        constraints = [
            models.CheckConstraint(condition=models.Q(price__gte=0), name="price_ok"),
            models.UniqueConstraint(fields=["title", "author"], name="one_title"),
        ]
        indexes = [models.Index(fields=["-price"], name="by_price")]


@check
def migrations():
    call_command("migrate", verbosity=0)
    with connection.schema_editor() as editor:
        editor.create_model(Author)
        editor.create_model(Book)


@check
def rows():
    ann = Author.objects.create(name="Ann", born=dt.date(1970, 1, 2))
    bob = Author.objects.create(name="Bob")
    books = [
        Book(
            title=f"T{i}",
            author=ann if i % 2 else bob,
            price=decimal.Decimal(i) / 4,
            data={"k": i, "l": [1, {"x": "y"}]},
            uid=uuid.UUID(int=i),
            took=dt.timedelta(seconds=i),
        )
        for i in range(20)
    ]
    Book.objects.bulk_create(books)
    equal(Book.objects.count(), 20)
    one = Book.objects.get(title="T3")
    equal((one.price, one.uid, one.took, one.data["k"]), (decimal.Decimal("0.75"), uuid.UUID(int=3), dt.timedelta(seconds=3), 3))


@check
def queries():
    sums = Author.objects.annotate(n=Count("books"), s=Sum("books__price"), m=Avg("books__price"))
    equal(list(sums.order_by("name").values_list("name", "n", "s")), [("Ann", 10, 25), ("Bob", 10, decimal.Decimal("22.5"))])
    equal([b.title for b in Book.objects.order_by("-price")[5:8]], ["T14", "T13", "T12"])
    best = Book.objects.filter(author=OuterRef("pk")).order_by("-price").values("title")[:1]
    equal(list(Author.objects.annotate(best=Subquery(best)).order_by("name").values_list("best")), [("T19",), ("T18",)])
    equal(Author.objects.filter(Exists(Book.objects.filter(author=OuterRef("pk"), price__gt=4))).count(), 2)
    kinds = Book.objects.annotate(c=Case(When(price__gt=3, then=Value("x")), default=Value("y")))
    equal(list(kinds.values("c").annotate(n=Count("id")).order_by("c")), [{"c": "x", "n": 7}, {"c": "y", "n": 13}])
    equal(Author.objects.filter(name__icontains="AN").annotate(u=Upper("name")).get().u, "ANN")
    names = Author.objects.values_list("name")
    equal(list(names.intersection(names.filter(name="Ann"))), [("Ann",)])


@check
def json_and_dates():
    equal(Book.objects.filter(data__k=3).count(), 1)
    equal(Book.objects.filter(data__l__1__x="y").count(), 20)
    equal(Book.objects.filter(data__has_key="k").count(), 20)
    years = Book.objects.annotate(d=TruncDay("at"), y=ExtractYear("at")).values("y").annotate(n=Count("id"))
    equal(sum(y["n"] for y in years), 20)


@check
def windows():
    numbered = Book.objects.annotate(
        r=Window(RowNumber(), partition_by="author", order_by="price"), s=Window(Sum("price"), order_by="id")
    )
    got = sorted(numbered.values_list("title", "r", "s"))[:3]
    equal(got, [("T0", 1, 0), ("T1", 1, decimal.Decimal("0.25")), ("T10", 6, decimal.Decimal("13.75"))])


@check
def changes():
    equal(Book.objects.filter(price__lt=2).update(price=F("price") + 1, sold=True), 8)
    equal(Author.objects.get_or_create(name="Cyd")[1], True)
    equal(Author.objects.update_or_create(name="Cyd", defaults={"born": dt.date(2000, 1, 1)})[1], False)
    try:
        with transaction.atomic():
            Author.objects.create(name="Ann")
        raise AssertionError("a duplicate was taken")
    except IntegrityError as e:
        assert "UNIQUE KEY" in str(e), e
    with transaction.atomic():
        equal(len(Book.objects.select_for_update(skip_locked=True).filter(price__gt=4)), 3)
    equal(Author.objects.filter(name="Ann").delete()[0], 11)


@check
def alterations():
    with connection.schema_editor() as editor:
        number = models.IntegerField(default=5)
        number.set_attributes_from_name("extra")
        number.model = Book
        editor.add_field(Book, number)
        larger = models.BigIntegerField(null=True)
        larger.set_attributes_from_name("extra")
        larger.model = Book
        editor.alter_field(Book, number, larger)
        editor.remove_field(Book, larger)
        editor.alter_db_table(Author, "shop_author", "shop_writer")
        editor.alter_db_table(Author, "shop_writer", "shop_author")


@check
def introspection():
    with connection.cursor() as cursor:
        described = connection.introspection.get_table_description(cursor, "shop_book")
    equal(described[0].name, "id")


@check
def users():
    from django.contrib.auth.models import User

    user = User.objects.create_superuser("root", "r@x.y", "pw")
    equal(user.check_password("pw"), True)
    call_command("flush", interactive=False, verbosity=0)
    equal(User.objects.count(), 0)


if __name__ == "__main__":
    run("django")
