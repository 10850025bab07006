"""What the programs that back up to object storage share: processes of their own, a certificate, statements."""

import datetime
import ipaddress
import os
import pathlib
import re
import socket
import subprocess
import tempfile
import time

import pymssql
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from harness import HOST, PASSWORD, PORT

work = pathlib.Path(tempfile.mkdtemp())
processes = []


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def spawn(*command, **options):
    process = subprocess.Popen(command, **options)
    processes.append(process)
    return process


def answers(port):
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"nothing listens on {port}")


def make_certificate():
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "storage of the test")])
    now = datetime.datetime.now(datetime.timezone.utc)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(x509.random_serial_number()).add_extension(names, False)
    made = made.not_valid_before(now - datetime.timedelta(1)).not_valid_after(now + datetime.timedelta(30))
    made = made.sign(key, hashes.SHA256())
    (work / "storage.crt").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    kind, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (work / "storage.key").write_bytes(key.private_bytes(kind, form, serialization.NoEncryption()))


def start_keel(*options):
    data = work / f"keel{len(processes)}"
    said = work / f"said{len(processes)}"
    command = [os.environ["KEEL"], "serve", "--data", str(data), "--listen", "127.0.0.1:0", "--max-server-memory", "512"]
    environment = {**os.environ, "MSSQL_SA_PASSWORD": PASSWORD}
    process = spawn(*command, *options, stdout=open(said, "wb"), stderr=subprocess.DEVNULL, env=environment)
    for _ in range(600):
        found = re.search(r"127\.0\.0\.1:(\d+)", said.read_text())
        if found:
            return process, int(found.group(1))
        time.sleep(0.1)
    raise AssertionError("the server does not start")


def connect(port=PORT):
    return pymssql.connect(server=HOST, port=str(port), user="sa", password=PASSWORD, database="master", autocommit=True)


def do(statement, port=PORT):
    with connect(port) as c, c.cursor() as k:
        k.execute(statement)
        return k.fetchall() if k.description else None


def fails(statement, *words, port=PORT):
    try:
        do(statement, port)
    except pymssql.Error as e:
        for word in words:
            assert word in str(e), e
        return
    raise AssertionError(f"it went well: {statement}")
