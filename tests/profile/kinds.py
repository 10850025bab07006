#!/usr/bin/env python3
"""Instructions that one statement of each kind executes, by callgrind: TPROC-C's statements over a few rows, each in a loop of a procedure in one
transaction, less the loop without it. Others may use the machine meanwhile.

    tests/profile/kinds.py target/quick/keel [KIND ...]

Needs valgrind, and pymssql as `tests/clients/run.sh pymssql` installs it.
"""
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(path) for path in (ROOT / "target/clients/python").glob("lib/python3*/site-packages")]
import pymssql  # noqa: E402

PASSWORD = "Kinds-of-2026"
TIMES = 200
COUNTED = "*keel_server::backend::SqlSession>::execute_rpc*"
VARIABLES = (
    "DECLARE @i int=0,@k int,@p decimal(5,2),@a varchar(24),@b varchar(50),@q int,@d varchar(50),@dist char(24),@d_id int=4,@one int=1,@quantity int=3,@tax decimal(4,4),@o int,@t decimal(12,2),@m decimal(6,2)=12.5,@last varchar(16),@bal decimal(12,2),@cr char(2),@first varchar(16),@mid char(2),@disc decimal(4,4) "
)
KINDS = {
    'empty': '',
    'set_int': "SET @o = @i",
    'rand': "SET @o = CAST(RAND() * 100000 AS int) + 1",
    'if': "IF @o = @i AND @one = 0 SET @o = 1",
    'amount': "SET @t = @t + @m * @quantity",
    'sel_item': "SELECT @p = i_price, @a = i_name, @b = i_data FROM item WHERE i_id = @k",
    'sel_cust': "SELECT @disc = c_discount, @last = c_last, @cr = c_credit FROM customer WHERE c_w_id = @one AND c_d_id = @one AND c_id = 7",
    'sel_stock': "SELECT @q = s_quantity, @d = s_data, @dist = CASE @d_id WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END FROM stock WITH (UPDLOCK) WHERE s_w_id = @one AND s_i_id = @k",
    'upd_stock': "UPDATE stock SET s_quantity = CASE WHEN @q > @quantity + 9 THEN @q - @quantity ELSE @q - @quantity + 91 END, s_ytd = s_ytd + @quantity, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + CASE WHEN @one = @d_id THEN 0 ELSE 1 END WHERE s_w_id = @one AND s_i_id = @k",
    'upd_district': "UPDATE district SET @tax = d_tax, @o = d_next_o_id, d_next_o_id = d_next_o_id + 1 WHERE d_w_id = @one AND d_id = @d_id",
    'upd_cust': "UPDATE customer SET @bal = c_balance = c_balance - @m, c_ytd_payment = c_ytd_payment + @m, c_payment_cnt = c_payment_cnt + 1, @cr = c_credit, @first = c_first, @mid = c_middle, @last = c_last, @disc = c_discount WHERE c_w_id = @one AND c_d_id = @one AND c_id = @k % 300 + 1",
    'ins_ol': "INSERT order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES (@seed + @i, @d_id, @one, @d_id, @k, @one, NULL, @quantity, @m, @dist)",
    'ins_no': "INSERT new_order (no_o_id, no_d_id, no_w_id) VALUES (@seed + @i, @d_id, @one)",
    'count_name': "SELECT @o = COUNT(*) FROM customer WHERE c_w_id = @one AND c_d_id = @one AND c_last = 'LAST33'",
    'fetch_name': "SELECT @o = c_id FROM customer WHERE c_w_id = @one AND c_d_id = @one AND c_last = 'LAST33' ORDER BY c_first OFFSET 1 ROWS FETCH NEXT 1 ROWS ONLY",
    'sum_ol': "SELECT @t = SUM(ol_amount) FROM order_line WHERE ol_w_id = @one AND ol_d_id = @one AND ol_o_id = @k % 100 + 1",
}


def fill(cur):
    """The tables that the statements are about, with a few rows."""
    text = (ROOT / 'crates/keel-workload/src/tpcc/schema.rs').read_text()
    tables = re.findall(r'"(CREATE TABLE (?:item|stock|district|customer|order_line|new_order) .*?)",\n', text, re.S)
    for table in tables:
        table = re.sub(r'\\\n\s*','', table).replace('TINY','tinyint').replace('STAMP','datetime2(3)')
        cur.execute(table)
    cur.execute("CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first)")
    cur.execute("CREATE TABLE n(i int)")
    cur.execute("INSERT n SELECT TOP (1000) ROW_NUMBER() OVER(ORDER BY (SELECT 1)) FROM sys.all_columns a CROSS JOIN sys.all_columns b")
    cur.execute("INSERT item SELECT i,i,'name of an item',12.5,'data data data data data data' FROM n")
    cur.execute("INSERT stock SELECT i,1,50,"+",".join(["'abcdefghijklmnopqrstuvwx'"]*10)+",0,0,0,'data data data data data data' FROM n")
    cur.execute("INSERT district SELECT i,1,3000,0.1,3001,'district','street','street','city','st','123456789' FROM n WHERE i<=10")
    cur.execute("INSERT customer SELECT i,1,1,'first'+CAST(i as varchar(9)),'OE','LAST'+CAST(i/3 AS varchar(9)),'street street','street street','city city','st','123456789','0123456789012345',SYSDATETIME(),'GC',50000,0.1,-10,10,1,0,REPLICATE('data ',80) FROM n WHERE i<=300")
    cur.execute("INSERT order_line SELECT o.i,1,1,l.i,o.i*l.i,1,NULL,5,12.5,'abcdefghijklmnopqrstuvwx' FROM n o CROSS JOIN n l WHERE o.i<=100 AND l.i<=10")


def procedures(cur):
    for kind, statement in KINDS.items():
        cur.execute(
            f"CREATE PROCEDURE k_{kind} @n int, @seed int AS BEGIN SET NOCOUNT ON SET XACT_ABORT ON {VARIABLES} BEGIN TRANSACTION "
            f"WHILE @i < @n BEGIN SET @k = @i + 1 {statement} SET @i = @i + 1 END COMMIT END"
        )


def counted(server, data, kinds):
    """What callgrind counts for each kind, in all of its rounds."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = open(data / "log", "w")
    grind = ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--collect-atstart=no", f"--toggle-collect={COUNTED}"]
    command = [*grind, f"--callgrind-out-file={data}/out", server, "serve", "--data", f"{data}/data", "--listen", f"127.0.0.1:{port}"]
    process = subprocess.Popen(command, env=dict(os.environ, MSSQL_SA_PASSWORD=PASSWORD), stdout=log, stderr=subprocess.STDOUT)
    try:
        while "ready for" not in (data / "log").read_text():
            if process.poll() is not None:
                sys.exit((data / "log").read_text())
            time.sleep(0.2)
        cur = pymssql.connect(server="127.0.0.1", port=str(port), user="sa", password=PASSWORD, autocommit=True).cursor()
        cur.execute("CREATE DATABASE k")
        cur.execute("USE k")
        fill(cur)
        procedures(cur)
        seed = 1000

        def run(kind, times):
            nonlocal seed
            seed += times + 1
            cur.callproc(f"k_{kind}", (times, seed))
            cur.nextset()

        def control(*what):
            subprocess.run(["callgrind_control", *what, str(process.pid)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        for kind in kinds:
            run(kind, 20)
            run(kind, 20)
        control("--instr=on")
        for kind in kinds:
            run(kind, 5)
        for kind in kinds:
            control("--zero")
            run(kind, TIMES)
            control(f"--dump={kind}")
    finally:
        process.terminate()
        process.wait()
    counts = {}
    for file in data.glob("out*"):
        text = file.read_text()
        trigger = re.search(r"^desc: Trigger: .*?(\w+)\s*$", text, re.M)
        total = re.search(r"^(?:summary|totals): (\d+)", text, re.M)
        if trigger and total and trigger[1] in kinds:
            counts[trigger[1]] = int(total[1])
    return counts


def main():
    server, asked = os.path.abspath(sys.argv[1]), sys.argv[2:]
    kinds = ["empty", *(kind for kind in KINDS if kind != "empty" and (not asked or kind in asked))]
    with tempfile.TemporaryDirectory() as data:
        counts = counted(server, pathlib.Path(data), kinds)
    for kind in kinds[1:]:
        print(f"{kind:14} {(counts[kind] - counts['empty']) / TIMES:10,.0f}")


main()
