"""Database Mail to a mail server (aiosmtpd): in the clear, with STARTTLS and a password, a query's results, an operator who hears of a
failed job. `KEEL_DATA` is the data directory of the server."""

import email
import email.policy
import os
import pathlib
import shutil
import ssl
import time

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword
from harness import check, equal, run
from storages import do, free_port, make_certificate, work

received = []


class Handler:
    async def handle_DATA(self, server, session, envelope):
        message = email.message_from_bytes(envelope.original_content, policy=email.policy.default)
        received.append((session, envelope, message))
        return "250 taken"


def authenticate(server, session, envelope, mechanism, data):
    right = isinstance(data, LoginPassword) and (data.login, data.password) == (b"keel", b"let me in")
    return AuthResult(success=right, handled=False)


make_certificate()
authorities = pathlib.Path(os.environ["KEEL_DATA"], "ca-certificates")
authorities.mkdir(exist_ok=True)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(work / "storage.crt", work / "storage.key")
plain = Controller(Handler(), hostname="127.0.0.1", port=free_port())
secure = Controller(Handler(), hostname="127.0.0.1", port=free_port(), tls_context=context, require_starttls=True,
                    authenticator=authenticate, auth_required=True, auth_require_tls=True)
plain.start()
secure.start()


def settle():
    for _ in range(600):
        if not do("select 1 from msdb.dbo.sysmail_unsentitems"):
            return
        time.sleep(0.1)
    raise AssertionError("mail is not sent")


def profile(name, port, more=""):
    do(f"""exec msdb.dbo.sysmail_add_account_sp @account_name = N'{name}', @email_address = N'keel@example.com',
        @display_name = N'Keel, the server', @mailserver_name = N'127.0.0.1', @port = {port} {more}""")
    do(f"exec msdb.dbo.sysmail_add_profile_sp @profile_name = N'{name}'")
    do(f"exec msdb.dbo.sysmail_add_profileaccount_sp @profile_name = N'{name}', @account_name = N'{name}', @sequence_number = 1")


def send(text):
    before = len(received)
    do(f"exec msdb.dbo.sp_send_dbmail {text}")
    settle()
    equal(len(received), before + 1)
    return received[-1]


@check
def in_the_clear():
    do("exec sp_configure 'show advanced options', 1")
    do("reconfigure")
    do("exec sp_configure 'Database Mail XPs', 1")
    do("reconfigure")
    profile("plain", plain.port)
    _, envelope, message = send("""@profile_name = N'plain', @recipients = 'ann@example.com;bob@example.com', @copy_recipients = 'cc@example.com',
        @blind_copy_recipients = 'bcc@example.com', @subject = N'Größe', @body = N'Ünïcode
.
and a line with a dot', @importance = 'high', @reply_to = 'dba@example.com'""")
    equal(envelope.rcpt_tos, ["ann@example.com", "bob@example.com", "cc@example.com", "bcc@example.com"])
    equal(message["subject"], "Größe")
    equal(message["from"], '"Keel, the server" <keel@example.com>')
    assert message["message-id"], "it has no Message-ID"
    equal((message["reply-to"], message["importance"], message["bcc"]), ("dba@example.com", "high", None))
    equal(message.get_content().split(), ["Ünïcode", ".", "and", "a", "line", "with", "a", "dot"])


@check
def a_certificate_that_is_not_trusted():
    profile("secure", secure.port, ", @enable_ssl = 1, @username = N'keel', @password = N'let me in'")
    do("exec msdb.dbo.sp_send_dbmail @profile_name = N'secure', @recipients = 'ann@example.com', @subject = N'x'")
    settle()
    said = do("select top 1 description from msdb.dbo.sysmail_event_log where event_type = 'error' order by log_id desc")[0][0]
    assert "certificate" in said, said


@check
def encrypted_with_a_password():
    shutil.copy(work / "storage.crt", authorities / "mail.crt")
    session, _, message = send("@profile_name = N'secure', @recipients = 'ann@example.com', @subject = N'x', @body = N'<p>x</p>', @body_format = 'HTML'")
    assert session.ssl, "it came in the clear"
    equal(message.get_content_type(), "text/html")


@check
def a_password_that_is_wrong():
    do("exec msdb.dbo.sysmail_update_account_sp @account_name = N'secure', @username = N'keel', @password = N'wrong'")
    before = len(received)
    do("exec msdb.dbo.sp_send_dbmail @profile_name = N'secure', @recipients = 'ann@example.com', @subject = N'x'")
    settle()
    equal(len(received), before)
    said = do("select top 1 description from msdb.dbo.sysmail_event_log where event_type = 'error' order by log_id desc")[0][0]
    assert "535" in said or "Authentication" in said, said
    assert "wrong" not in said, said


@check
def results_and_files():
    (work / "note.txt").write_bytes(b"a note\n")
    _, _, message = send(f"""@profile_name = N'plain', @recipients = 'ann@example.com', @body = N'see', @file_attachments = N'{work}/note.txt',
        @query = N'set nocount on; select 1 as a, N''é'' as b', @attach_query_result_as_file = 1, @query_result_separator = ','""")
    parts = [(part.get_filename(), part.get_payload(decode=True)) for part in message.iter_attachments()]
    equal(parts[1], ("note.txt", b"a note\n"))
    equal(parts[0][1].decode("utf-16").split(), ["a,b", "-,-", "1,é"])


@check
def an_operator_hears_of_a_failed_job():
    do("exec msdb.dbo.sp_set_sqlagent_properties @use_databasemail = 1, @databasemail_profile = N'plain'")
    do("exec msdb.dbo.sp_add_operator N'ann', @email_address = N'ann@example.com'")
    do("exec msdb.dbo.sp_add_job N'fails', @notify_level_email = 2, @notify_email_operator_name = N'ann'")
    do("exec msdb.dbo.sp_add_jobstep @job_name = N'fails', @step_name = N's', @command = N'select 1 / 0'")
    do("exec msdb.dbo.sp_add_jobserver @job_name = N'fails'")
    before = len(received)
    do("exec msdb.dbo.sp_start_job N'fails'")
    for _ in range(600):
        if len(received) > before:
            break
        time.sleep(0.1)
    message = received[-1][2]
    assert message["subject"].startswith("SQL Server Job System: 'fails' completed on "), message["subject"]
    assert "STATUS: \tFailed" in message.get_content(), message.get_content()


run("mail")
