"""BACKUP TO URL and RESTORE FROM URL against Azurite, the emulator of Azure's Blob Storage, over HTTPS with a certificate of our own, and
over HTTP. `AZURITE` names its program, `KEEL` the server's, `KEEL_DATA` the data directory of the one that runs."""

import base64
import datetime
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time

import pymssql
from azure.storage.blob import BlobServiceClient, ContainerSasPermissions, generate_container_sas
from harness import DATABASE, check, equal, run
from storages import answers, connect, do, fails, free_port, make_certificate, processes, spawn, start_keel, work

ACCOUNT = "store"
KEY, WRONG = (base64.b64encode(key).decode() for key in (b"the key of the account", b"another"))
https_port, http_port = free_port(), free_port()
HTTPS, HTTP = f"https://127.0.0.1:{https_port}/{ACCOUNT}", f"http://127.0.0.1:{http_port}/{ACCOUNT}"
SHOP, PLAIN = f"{HTTPS}/shop", f"{HTTP}/shop"
trusted = ("--ca-certificates", str(pathlib.Path(os.environ["KEEL_DATA"]) / "ca-certificates"))


def start_azurite(port, *options):
    command = [os.environ["AZURITE"], "--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", str(work / f"azurite{port}")]
    environment = {**os.environ, "AZURITE_ACCOUNTS": f"{ACCOUNT}:{KEY}"}
    quiet = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    spawn(*command, "--silent", "--disableTelemetry", "--skipApiVersionCheck", *options, env=environment, **quiet)


def storage(url=HTTPS):
    return BlobServiceClient(url, credential=KEY, connection_verify=str(work / "storage.crt"))


def blobs(*include):
    return sorted(b.name for b in storage().get_container_client("shop").list_blobs(include=list(include) or None))


def signature(container="shop", permission="rcwdl", key=KEY):
    until = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
    allowed = ContainerSasPermissions.from_string(permission)
    return generate_container_sas(ACCOUNT, container, key, permission=allowed, expiry=until, protocol="https,http")


def credential(name, secret, verb="create", port=None):
    port = {} if port is None else {"port": port}
    do(f"{verb} credential [{name}] with identity = 'SHARED ACCESS SIGNATURE', secret = '{secret}'", **port)


@check
def a_certificate_counts_once_it_is_in_the_directory():
    credential(SHOP, signature())
    do(f"alter database {DATABASE} set recovery full")
    do(f"create table {DATABASE}.dbo.item (id int identity primary key, filler varchar(8000))")
    do(f"insert {DATABASE}.dbo.item (filler) select top 3000 replicate(convert(char(36), newid()), 200) from sys.all_columns")
    fails(f"backup database {DATABASE} to url = '{SHOP}/full.bak'", "Operating system error 12175")
    pathlib.Path(trusted[1]).mkdir(exist_ok=True)
    shutil.copy(work / "storage.crt", pathlib.Path(trusted[1]) / "azure.crt")
    storage().create_container("shop")
    do(f"backup database {DATABASE} to url = N'{SHOP}/full.bak' with compression, format, stats = 10")
    do(f"restore verifyonly from url = N'{SHOP}/full.bak'")
    equal(blobs(), ["full.bak"])


@check
def what_is_wrong_is_told():
    fails(f"restore headeronly from url = '{SHOP}/missing.bak'", "Operating system error 2(", "BlobNotFound")
    credential(f"{HTTPS}/nothere", signature("nothere"))
    fails(f"backup database {DATABASE} to url = '{HTTPS}/nothere/full.bak' with format", "Operating system error 50(", "ContainerNotFound")
    for secret in (signature(key=WRONG), signature(permission="w")):
        credential(SHOP, secret, "alter")
        fails(f"backup database {DATABASE} to url = '{SHOP}/other.bak'", "Operating system error 5(", "HTTP 403 Authorization")
    # It may look and not write.
    credential(SHOP, signature(permission="r"), "alter")
    fails(f"backup database {DATABASE} to url = '{SHOP}/other.bak'", "Write on", "HTTP 403 Authorization")
    credential(SHOP, "?" + signature(), "alter")
    equal(blobs("uncommittedblobs"), ["full.bak"])


@check
def one_that_is_there_is_replaced_with_format_only():
    fails(f"backup database {DATABASE} to url = '{SHOP}/full.bak' with copy_only", "WITH FORMAT was not specified")
    do(f"backup database {DATABASE} to url = '{SHOP}/full.bak' with copy_only, format")
    with storage().get_blob_client("shop", "full.bak").acquire_lease():
        fails(f"backup database {DATABASE} to url = '{SHOP}/full.bak' with copy_only, format", "Write on", "LeaseIdMissing")
    do(f"restore verifyonly from url = '{SHOP}/full.bak'")


@check
def stripes_differences_and_logs_make_another_instance():
    stripes = [f"url = '{SHOP}/a folder/full{n} (striped).bak'" for n in range(3)]
    do(f"backup database {DATABASE} to {', '.join(stripes)} with maxtransfersize = 1048576, blocksize = 65536, format")
    do(f"insert {DATABASE}.dbo.item (filler) values ('in the differences')")
    do(f"backup database {DATABASE} to url = '{SHOP}/d.bak' with differential, compression")
    do(f"insert {DATABASE}.dbo.item (filler) values ('in the log')")
    do(f"backup log {DATABASE} to url = '{SHOP}/1.trn'")
    do(f"insert {DATABASE}.dbo.item (filler) values ('lost')")
    _, port = start_keel(*trusted)
    credential(SHOP, signature(permission="r"), port=port)
    rows = do(f"restore headeronly from {', '.join(reversed(stripes))}", port)
    equal((rows[0][6], rows[0][9]), (9, DATABASE))
    equal([row[0] for row in do(f"restore filelistonly from url = '{SHOP}/d.bak'", port)][:1], [DATABASE])
    equal(len(do(f"restore labelonly from url = '{SHOP}/1.trn'", port)), 1)
    do(f"restore database shop from {', '.join(stripes)} with norecovery", port)
    do(f"restore database shop from url = '{SHOP}/d.bak' with norecovery", port)
    do(f"restore log shop from url = '{SHOP}/1.trn' with recovery", port)
    equal(do("select max(filler), count(*) from shop.dbo.item where filler like 'in the%'", port), [("in the log", 2)])
    equal(do("select count(*) from shop.dbo.item", port), [(3002,)])
    do("dbcc checkdb (shop)", port)


@check
def the_key_of_the_account_by_http_where_that_is_allowed():
    storage(HTTP).create_container("shop")
    do(f"create credential older with identity = '{ACCOUNT}', secret = '{KEY}'")
    backup = f"backup database {DATABASE} to url = '{PLAIN}/a folder/full (1).bak' with copy_only, credential = 'older'"
    fails(backup, "Operating system error 50(", "--plain-http")
    fails(f"backup database {DATABASE} to url = '{SHOP}/x.bak' with credential = '{SHOP}'", "3225")
    _, port = start_keel("--plain-http", f"127.0.0.1:{http_port}")
    do(f"create credential older with identity = '{ACCOUNT}', secret = '{KEY}'", port)
    do("create database small", port)
    for format in ("", ", format"):
        do(backup.replace(DATABASE, "small") + format, port)
    do(f"restore database again from url = '{PLAIN}/a folder/full (1).bak' with credential = 'older'", port)
    do(f"alter credential older with identity = '{ACCOUNT}', secret = '{WRONG}'", port)
    fails(f"restore labelonly from url = '{PLAIN}/a folder/full (1).bak' with credential = 'older'", "Operating system error 5(", port=port)


@check
def a_server_that_dies_leaves_no_blob():
    process, port = start_keel(*trusted)
    credential(SHOP, signature(), port=port)
    do(f"restore database shop from url = '{SHOP}/full.bak'", port)

    def back_up():
        try:
            do(f"backup database shop to url = '{SHOP}/dies.bak' with maxtransfersize = 65536", port)
        except pymssql.Error:
            pass

    thread = threading.Thread(target=back_up)
    thread.start()
    for _ in range(1000):
        if "dies.bak" in blobs("uncommittedblobs"):
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    thread.join()
    # It may have been quicker; a part of it is never there, and what is left of it is in nobody's way.
    if "dies.bak" in blobs():
        do(f"restore verifyonly from url = '{SHOP}/dies.bak'")
    else:
        do(f"backup database {DATABASE} to url = '{SHOP}/dies.bak' with copy_only")


try:
    make_certificate()
    start_azurite(https_port, "--cert", str(work / "storage.crt"), "--key", str(work / "storage.key"))
    start_azurite(http_port)
    answers(https_port)
    answers(http_port)
    run("azure")
finally:
    for process in processes:
        process.kill()
    shutil.rmtree(work, ignore_errors=True)
