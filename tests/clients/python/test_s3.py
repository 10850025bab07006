"""BACKUP TO URL and RESTORE FROM URL against two S3 storages: moto over HTTPS with a certificate of our own, and S3Proxy, which checks
signatures, over HTTP. `S3PROXY` names the latter's jars, `KEEL` the server's program, `KEEL_DATA` the data directory of the one that runs."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import boto3
import pymssql
from botocore.config import Config
from harness import HOST, PASSWORD, check, equal, run
from storages import answers, connect, do, fails, free_port, make_certificate, processes, spawn, start_keel, work


def start_proxy():
    data, settings = work / "s3proxy", work / "s3proxy.conf"
    (data / "shop").mkdir(parents=True)
    settings.write_text(f"""s3proxy.endpoint=http://127.0.0.1:{proxy_port}
s3proxy.authorization=aws-v2-or-v4
s3proxy.identity=AKID
s3proxy.credential=right
jclouds.provider=filesystem
jclouds.filesystem.basedir={data}
""")
    command = ["java", "-cp", os.environ["S3PROXY"] + "/*", "org.gaul.s3proxy.Main", "--properties", str(settings)]
    spawn(*command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


moto_port, proxy_port = free_port(), free_port()
HTTPS, HTTP = f"s3://127.0.0.1:{moto_port}/shop", f"s3://127.0.0.1:{proxy_port}/shop"
second_port = None


def storage():
    config = Config(s3={"addressing_style": "path"}, retries={"max_attempts": 5})
    return boto3.client("s3", endpoint_url=f"https://127.0.0.1:{moto_port}", verify=str(work / "storage.crt"),
                        region_name="us-east-1", aws_access_key_id="AKID", aws_secret_access_key="secret", config=config)


def keys():
    return sorted(o["Key"] for o in storage().list_objects_v2(Bucket="shop").get("Contents", []))


def nothing_is_left(below=""):
    equal(storage().list_multipart_uploads(Bucket="shop", Prefix=below).get("Uploads", []), [])


@check
def a_certificate_that_is_not_trusted():
    do(f"create credential [{HTTPS}] with identity = 'S3 Access Key', secret = 'AKID:secret'")
    do("create database shop")
    do("alter database shop set recovery full")
    do("create table shop.dbo.item (id int identity primary key, filler varchar(8000), at datetime2 default sysdatetime())")
    fails(f"backup database shop to url = '{HTTPS}/full.bak'", "Operating system error 12175")


@check
def a_certificate_in_the_directory_counts_at_once():
    trusted = pathlib.Path(os.environ["KEEL_DATA"]) / "ca-certificates"
    trusted.mkdir(exist_ok=True)
    shutil.copy(work / "storage.crt", trusted)
    storage().create_bucket(Bucket="shop")
    do(f"backup database shop to url = '{HTTPS}/first.bak'")
    do(f"restore verifyonly from url = '{HTTPS}/first.bak'")
    equal(keys(), ["first.bak"])


@check
def a_bucket_that_is_not_there():
    do(f"create credential [s3://127.0.0.1:{moto_port}/nothere] with identity = 'S3 Access Key', secret = 'AKID:secret'")
    fails(f"backup database shop to url = 's3://127.0.0.1:{moto_port}/nothere/full.bak'", "NoSuchBucket")
    fails(f"restore headeronly from url = '{HTTPS}/missing.bak'", "Operating system error 2(")


def fill(stop, counts):
    with connect() as c, c.cursor() as k:
        while not stop.is_set():
            k.execute("insert shop.dbo.item (filler) select top 20 replicate(convert(char(36), newid()), 200) from sys.objects")
            counts.append(20)


@check
def under_load_to_several_and_back_to_a_point_in_time():
    do("insert shop.dbo.item (filler) select top 3000 replicate(convert(char(36), newid()), 200) from sys.all_columns")
    stop, counts = threading.Event(), []
    writer = threading.Thread(target=fill, args=(stop, counts))
    writer.start()
    stripes = [f"url = '{HTTPS}/chain/full{n}.bak'" for n in range(3)]
    do(f"backup database shop to {', '.join(stripes)} with maxtransfersize = 5242880, format, stats = 20")
    do(f"backup log shop to url = '{HTTPS}/chain/1.trn'")
    so_far = len(counts)
    while len(counts) < so_far + 3:
        time.sleep(0.01)
    point, kept = do("select convert(varchar(30), sysdatetime(), 126), count(*) from shop.dbo.item")[0]
    stop.set()
    writer.join()
    do("insert shop.dbo.item (filler) values ('too late')")
    do(f"backup log shop to url = '{HTTPS}/chain/2.trn'")
    nothing_is_left()
    region = """restore_options = '{"s3": {"region": "us-east-1"}}'"""
    # On another instance, which has nothing but the credential.
    global second_port
    trusted = ["--ca-certificates", str(pathlib.Path(os.environ["KEEL_DATA"]) / "ca-certificates")]
    _, second_port = start_keel(*trusted, "--plain-http", f"127.0.0.1:{proxy_port}")
    do(f"create credential [{HTTPS}] with identity = 'S3 Access Key', secret = 'AKID:secret'", second_port)
    rows = do(f"restore headeronly from {', '.join(reversed(stripes))}", second_port)
    equal((rows[0][6], rows[0][9]), (9, "shop"))
    do(f"restore database shop from {', '.join(stripes)} with norecovery, {region}", second_port)
    do(f"restore log shop from url = '{HTTPS}/chain/1.trn' with norecovery", second_port)
    do(f"restore log shop from url = '{HTTPS}/chain/2.trn' with recovery, stopat = '{point}'", second_port)
    found, late = do("select count(*), count(case when filler = 'too late' then 1 end) from shop.dbo.item", second_port)[0]
    assert late == 0 and abs(found - kept) <= 40, (found, kept)
    do("dbcc checkdb (shop)", second_port)


@check
def encrypted_and_compressed():
    do("create master key encryption by password = 'A-master-key-1'")
    do("create certificate safe with subject = 'backups'")
    do(f"backup database shop to url = '{HTTPS}/sealed.bak' with compression, copy_only, "
       "encryption (algorithm = aes_256, server certificate = safe)")
    do(f"restore verifyonly from url = '{HTTPS}/sealed.bak'")
    do(f"restore database sealed from url = '{HTTPS}/sealed.bak'")
    equal(do("select count(*) from sealed.dbo.item"), do("select count(*) from shop.dbo.item"))
    do("drop database sealed")


@check
def one_that_is_there_is_replaced_with_format_only():
    fails(f"backup database shop to url = '{HTTPS}/first.bak' with copy_only", "WITH FORMAT was not specified")
    do(f"backup database shop to url = '{HTTPS}/first.bak' with copy_only, format")
    nothing_is_left()


@check
def history_has_urls():
    rows = do("select distinct device_type, left(physical_device_name, 5) from msdb.dbo.backupmediafamily where device_type <> 2")
    equal(rows, [(9, "s3://")])


@check
def a_signature_is_checked():
    answers(proxy_port)
    name = f"[{HTTP}]"
    do(f"create credential {name} with identity = 'S3 Access Key', secret = 'AKID:wrong'", second_port)
    fails(f"backup database shop to url = '{HTTP}/full.bak'", "Operating system error 5(", port=second_port)
    do(f"alter credential {name} with identity = 'S3 Access Key', secret = 'AKID:right'", second_port)
    do(f"backup database shop to url = '{HTTP}/a folder/full (1).bak', url = '{HTTP}/a folder/full (2).bak'", second_port)
    do(f"restore database again from url = '{HTTP}/a folder/full (2).bak', url = '{HTTP}/a folder/full (1).bak'", second_port)
    equal(do("select count(*) from again.dbo.item", second_port), do("select count(*) from shop.dbo.item", second_port))


@check
def plain_http_is_for_those_that_are_listed():
    do(f"create credential [{HTTP}] with identity = 'S3 Access Key', secret = 'AKID:right'")
    fails(f"backup database shop to url = '{HTTP}/plain.bak' with copy_only", "Cannot open backup device")


@check
def a_server_that_dies_leaves_no_object():
    process, port = start_keel("--ca-certificates", str(pathlib.Path(os.environ["KEEL_DATA"]) / "ca-certificates"))
    do(f"create credential [{HTTPS}] with identity = 'S3 Access Key', secret = 'AKID:secret'", port)
    do(f"restore database shop from {', '.join(f'''url = '{HTTPS}/chain/full{n}.bak' ''' for n in range(3))}", port)

    def back_up():
        try:
            do(f"backup database shop to url = '{HTTPS}/dies.bak' with maxtransfersize = 5242880, format", port)
        except pymssql.Error:
            pass

    thread = threading.Thread(target=back_up)
    thread.start()
    for _ in range(1000):
        if storage().list_multipart_uploads(Bucket="shop").get("Uploads"):
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    thread.join()
    # It may have been quicker; a part of it is never there.
    if "dies.bak" in keys():
        do(f"restore verifyonly from url = '{HTTPS}/dies.bak'")


def tell(port, *command):
    told = [os.environ["KEEL"], *command, "-S", f"{HOST},{port}", "-P", PASSWORD, "-C"]
    done = subprocess.run(told, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@check
def a_secondary_backs_up_what_the_primary_restores():
    trusted = ("--ca-certificates", str(pathlib.Path(os.environ["KEEL_DATA"]) / "ca-certificates"))
    (primary, first), (_, second) = (start_keel("--server-name", name, *trusted) for name in ("NODE1", "NODE2"))
    token = re.search(r"keel://\S+", tell(first, "init", "--endpoint", f"{HOST}:{free_port()}")).group()
    tell(second, "join", token, "--endpoint", f"{HOST}:{free_port()}")
    for port in (first, second):
        do(f"create credential [{HTTPS}] with identity = 'S3 Access Key', secret = 'AKID:secret'", port)
    do("create database copied", first)
    do("create table copied.dbo.item (id int primary key)", first)
    tell(first, "group", "create", "ag1", "--database", "copied", "--member", f"{HOST},{second}")
    preferred = [do("select sys.fn_hadr_backup_is_preferred_replica('copied')", port)[0][0] for port in (first, second)]
    equal(preferred, [False, True])
    url = f"{HTTPS}/group"
    fails(f"backup database copied to url = '{url}/full.bak'", "not supported on a database mirror or secondary replica", port=second)
    fails(f"backup log copied to url = '{url}/0.trn'", "no current database backup", port=second)
    do(f"backup database copied to url = '{url}/full.bak'", first)
    # The chain goes from one to the other, with a copy in between that leaves it alone; each has the history of what it made.
    for n, port in enumerate((second, first, second)):
        do(f"insert copied.dbo.item values ({n})", first)
        do(f"backup log copied to url = '{url}/{n}.trn'", port)
        do(f"backup database copied to url = '{url}/copy{n}.bak' with copy_only", second)
    made = [do("select count(*) from msdb.dbo.backupset where type = 'L'", port)[0][0] for port in (first, second)]
    equal(made, [1, 2])
    do(f"restore database again from url = '{url}/full.bak' with norecovery", first)
    for n in range(3):
        do(f"restore log again from url = '{url}/{n}.trn' with norecovery", first)
    do("restore database again with recovery", first)
    equal(do("select count(*) from again.dbo.item", first), [(3,)])
    do(f"restore database alone from url = '{url}/copy2.bak'", second)
    equal(do("select count(*) from alone.dbo.item", second), [(3,)])
    # Nobody is there who could note it: the object is good, and the next one begins where the last that was noted did.
    primary.send_signal(signal.SIGKILL)
    fails(f"backup log copied to url = '{url}/unnoted.trn'", "could not be committed on primary database", port=second)
    do(f"restore verifyonly from url = '{url}/unnoted.trn'", second)
    nothing_is_left(below="group/")


try:
    make_certificate()
    quiet = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    moto = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(moto_port), "-s"]
    spawn(*moto, "-c", str(work / "storage.crt"), "-k", str(work / "storage.key"), **quiet)
    start_proxy()
    answers(moto_port)
    run("s3")
finally:
    for process in processes:
        process.kill()
    shutil.rmtree(work, ignore_errors=True)
