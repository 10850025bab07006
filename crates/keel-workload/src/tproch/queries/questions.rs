//! The 22 questions of section 2.4. Days and the ends of spans of days come as parameters, so that both dialects compare with plain
//! literals.

use super::Question;

/// All, by number from 0.
pub static QUESTIONS: [Question; 22] = [
    Question {
        name: "pricing summary",
        top: 0,
        text: "SELECT l_returnflag, l_linestatus, SUM(l_quantity) AS quantity, SUM(l_extendedprice) AS base,
            SUM(l_extendedprice * (1 - l_discount)) AS discounted,
            SUM(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS charged,
            AVG(l_quantity) AS mean_quantity, AVG(l_extendedprice) AS mean_price, AVG(l_discount) AS mean_discount,
            COUNT(*) AS orders
            FROM lineitem WHERE l_shipdate <= ':1'
            GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus",
    },
    Question {
        name: "cheapest supplier",
        top: 100,
        text: "SELECT s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment
            FROM part JOIN partsupp ON ps_partkey = p_partkey JOIN supplier ON s_suppkey = ps_suppkey
            JOIN nation ON n_nationkey = s_nationkey JOIN region ON r_regionkey = n_regionkey
            WHERE p_size = :1 AND p_type LIKE '%:2' AND r_name = ':3' AND ps_supplycost = (
                SELECT MIN(ps_supplycost) FROM partsupp JOIN supplier ON s_suppkey = ps_suppkey
                JOIN nation ON n_nationkey = s_nationkey JOIN region ON r_regionkey = n_regionkey
                WHERE ps_partkey = p_partkey AND r_name = ':3')
            ORDER BY s_acctbal DESC, n_name, s_name, p_partkey",
    },
    Question {
        name: "unshipped orders",
        top: 10,
        text: "SELECT l_orderkey, SUM(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority
            FROM customer JOIN orders ON o_custkey = c_custkey JOIN lineitem ON l_orderkey = o_orderkey
            WHERE c_mktsegment = ':1' AND o_orderdate < ':2' AND l_shipdate > ':2'
            GROUP BY l_orderkey, o_orderdate, o_shippriority ORDER BY revenue DESC, o_orderdate",
    },
    Question {
        name: "priorities of late orders",
        top: 0,
        text: "SELECT o_orderpriority, COUNT(*) AS orders FROM orders
            WHERE o_orderdate >= ':1' AND o_orderdate < ':2' AND EXISTS (
                SELECT * FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)
            GROUP BY o_orderpriority ORDER BY o_orderpriority",
    },
    Question {
        name: "local suppliers' volume",
        top: 0,
        text: "SELECT n_name, SUM(l_extendedprice * (1 - l_discount)) AS revenue
            FROM customer JOIN orders ON o_custkey = c_custkey JOIN lineitem ON l_orderkey = o_orderkey
            JOIN supplier ON s_suppkey = l_suppkey AND s_nationkey = c_nationkey
            JOIN nation ON n_nationkey = s_nationkey JOIN region ON r_regionkey = n_regionkey
            WHERE r_name = ':1' AND o_orderdate >= ':2' AND o_orderdate < ':3'
            GROUP BY n_name ORDER BY revenue DESC",
    },
    Question {
        name: "revenue of discounts",
        top: 0,
        text: "SELECT SUM(l_extendedprice * l_discount) AS revenue FROM lineitem
            WHERE l_shipdate >= ':1' AND l_shipdate < ':2' AND l_discount BETWEEN :3 AND :4 AND l_quantity < :5",
    },
    Question {
        name: "volume between nations",
        top: 0,
        text: "SELECT supplying, buying, shipped, SUM(volume) AS revenue FROM (
                SELECT seller.n_name AS supplying, buyer.n_name AS buying, YEAR(l_shipdate) AS shipped,
                    l_extendedprice * (1 - l_discount) AS volume
                FROM supplier JOIN lineitem ON l_suppkey = s_suppkey JOIN orders ON o_orderkey = l_orderkey
                JOIN customer ON c_custkey = o_custkey JOIN nation seller ON seller.n_nationkey = s_nationkey
                JOIN nation buyer ON buyer.n_nationkey = c_nationkey
                WHERE ((seller.n_name = ':1' AND buyer.n_name = ':2') OR (seller.n_name = ':2' AND buyer.n_name = ':1'))
                AND l_shipdate BETWEEN '1995-01-01' AND '1996-12-31') AS shipping
            GROUP BY supplying, buying, shipped ORDER BY supplying, buying, shipped",
    },
    Question {
        name: "a nation's market share",
        top: 0,
        text: "SELECT ordered, SUM(CASE WHEN nation = ':1' THEN volume ELSE 0 END) / SUM(volume) AS share FROM (
                SELECT YEAR(o_orderdate) AS ordered, l_extendedprice * (1 - l_discount) AS volume, seller.n_name AS nation
                FROM part JOIN lineitem ON l_partkey = p_partkey JOIN supplier ON s_suppkey = l_suppkey
                JOIN orders ON o_orderkey = l_orderkey JOIN customer ON c_custkey = o_custkey
                JOIN nation buyer ON buyer.n_nationkey = c_nationkey JOIN region ON r_regionkey = buyer.n_regionkey
                JOIN nation seller ON seller.n_nationkey = s_nationkey
                WHERE r_name = ':2' AND o_orderdate BETWEEN '1995-01-01' AND '1996-12-31' AND p_type = ':3') AS sold
            GROUP BY ordered ORDER BY ordered",
    },
    Question {
        name: "profit by nation and year",
        top: 0,
        text: "SELECT nation, ordered, SUM(amount) AS profit FROM (
                SELECT n_name AS nation, YEAR(o_orderdate) AS ordered,
                    l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity AS amount
                FROM part JOIN lineitem ON l_partkey = p_partkey JOIN supplier ON s_suppkey = l_suppkey
                JOIN partsupp ON ps_suppkey = l_suppkey AND ps_partkey = l_partkey
                JOIN orders ON o_orderkey = l_orderkey JOIN nation ON n_nationkey = s_nationkey
                WHERE p_name LIKE '%:1%') AS sold
            GROUP BY nation, ordered ORDER BY nation, ordered DESC",
    },
    Question {
        name: "customers who return",
        top: 20,
        text: "SELECT c_custkey, c_name, SUM(l_extendedprice * (1 - l_discount)) AS revenue, c_acctbal, n_name, c_address,
                c_phone, c_comment
            FROM customer JOIN orders ON o_custkey = c_custkey JOIN lineitem ON l_orderkey = o_orderkey
            JOIN nation ON n_nationkey = c_nationkey
            WHERE o_orderdate >= ':1' AND o_orderdate < ':2' AND l_returnflag = 'R'
            GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment ORDER BY revenue DESC",
    },
    Question {
        name: "important stock",
        top: 0,
        text: "SELECT ps_partkey, SUM(ps_supplycost * ps_availqty) AS stock
            FROM partsupp JOIN supplier ON s_suppkey = ps_suppkey JOIN nation ON n_nationkey = s_nationkey
            WHERE n_name = ':1' GROUP BY ps_partkey
            HAVING SUM(ps_supplycost * ps_availqty) > (
                SELECT SUM(ps_supplycost * ps_availqty) * :2
                FROM partsupp JOIN supplier ON s_suppkey = ps_suppkey JOIN nation ON n_nationkey = s_nationkey
                WHERE n_name = ':1')
            ORDER BY stock DESC",
    },
    Question {
        name: "ways of shipping and priorities",
        top: 0,
        text: "SELECT l_shipmode, SUM(CASE WHEN o_orderpriority IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END) AS high,
                SUM(CASE WHEN o_orderpriority IN ('1-URGENT', '2-HIGH') THEN 0 ELSE 1 END) AS low
            FROM orders JOIN lineitem ON l_orderkey = o_orderkey
            WHERE l_shipmode IN (':1', ':2') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate
                AND l_receiptdate >= ':3' AND l_receiptdate < ':4'
            GROUP BY l_shipmode ORDER BY l_shipmode",
    },
    Question {
        name: "customers by number of orders",
        top: 0,
        text: "SELECT orders, COUNT(*) AS customers FROM (
                SELECT c_custkey, COUNT(o_orderkey) AS orders
                FROM customer LEFT JOIN orders ON o_custkey = c_custkey AND o_comment NOT LIKE '%:1%:2%'
                GROUP BY c_custkey) AS counted
            GROUP BY orders ORDER BY customers DESC, orders DESC",
    },
    Question {
        name: "effect of promotions",
        top: 0,
        text: "SELECT 100.00 * SUM(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END)
                / SUM(l_extendedprice * (1 - l_discount)) AS promoted
            FROM lineitem JOIN part ON p_partkey = l_partkey WHERE l_shipdate >= ':1' AND l_shipdate < ':2'",
    },
    Question {
        name: "best supplier",
        top: 0,
        text: "WITH revenue (supplier, total) AS (
                SELECT l_suppkey, SUM(l_extendedprice * (1 - l_discount)) FROM lineitem
                WHERE l_shipdate >= ':1' AND l_shipdate < ':2' GROUP BY l_suppkey)
            SELECT s_suppkey, s_name, s_address, s_phone, total FROM supplier JOIN revenue ON supplier = s_suppkey
            WHERE total = (SELECT MAX(total) FROM revenue) ORDER BY s_suppkey",
    },
    Question {
        name: "suppliers of kinds of parts",
        top: 0,
        text: "SELECT p_brand, p_type, p_size, COUNT(DISTINCT ps_suppkey) AS suppliers
            FROM partsupp JOIN part ON p_partkey = ps_partkey
            WHERE p_brand <> ':1' AND p_type NOT LIKE ':2%' AND p_size IN (:3) AND ps_suppkey NOT IN (
                SELECT s_suppkey FROM supplier WHERE s_comment LIKE '%Customer%Complaints%')
            GROUP BY p_brand, p_type, p_size ORDER BY suppliers DESC, p_brand, p_type, p_size",
    },
    Question {
        name: "revenue of small orders",
        top: 0,
        text: "SELECT SUM(l_extendedprice) / 7.0 AS yearly FROM lineitem JOIN part ON p_partkey = l_partkey
            WHERE p_brand = ':1' AND p_container = ':2' AND l_quantity < (
                SELECT 0.2 * AVG(inside.l_quantity) FROM lineitem AS inside WHERE inside.l_partkey = p_partkey)",
    },
    Question {
        name: "customers of large orders",
        top: 100,
        text: "SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, SUM(l_quantity) AS quantity
            FROM customer JOIN orders ON o_custkey = c_custkey JOIN lineitem ON l_orderkey = o_orderkey
            WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING SUM(l_quantity) > :1)
            GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice ORDER BY o_totalprice DESC, o_orderdate",
    },
    Question {
        name: "discounted revenue of brands",
        top: 0,
        text: "SELECT SUM(l_extendedprice * (1 - l_discount)) AS revenue FROM lineitem JOIN part ON p_partkey = l_partkey
            WHERE l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON' AND p_size >= 1 AND (
                (p_brand = ':1' AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG')
                    AND l_quantity BETWEEN :2 AND :3 AND p_size <= 5)
                OR (p_brand = ':4' AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK')
                    AND l_quantity BETWEEN :5 AND :6 AND p_size <= 10)
                OR (p_brand = ':7' AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG')
                    AND l_quantity BETWEEN :8 AND :9 AND p_size <= 15))",
    },
    Question {
        name: "suppliers with too much",
        top: 0,
        text: "SELECT s_name, s_address FROM supplier JOIN nation ON n_nationkey = s_nationkey
            WHERE n_name = ':2' AND s_suppkey IN (
                SELECT ps_suppkey FROM partsupp
                WHERE ps_partkey IN (SELECT p_partkey FROM part WHERE p_name LIKE ':1%') AND ps_availqty > (
                    SELECT 0.5 * SUM(l_quantity) FROM lineitem WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey
                        AND l_shipdate >= ':3' AND l_shipdate < ':4'))
            ORDER BY s_name",
    },
    Question {
        name: "suppliers who kept orders waiting",
        top: 100,
        text: "SELECT s_name, COUNT(*) AS waiting
            FROM supplier JOIN lineitem late ON late.l_suppkey = s_suppkey JOIN orders ON o_orderkey = late.l_orderkey
            JOIN nation ON n_nationkey = s_nationkey
            WHERE o_orderstatus = 'F' AND late.l_receiptdate > late.l_commitdate AND n_name = ':1'
                AND EXISTS (SELECT * FROM lineitem other
                    WHERE other.l_orderkey = late.l_orderkey AND other.l_suppkey <> late.l_suppkey)
                AND NOT EXISTS (SELECT * FROM lineitem other
                    WHERE other.l_orderkey = late.l_orderkey AND other.l_suppkey <> late.l_suppkey
                        AND other.l_receiptdate > other.l_commitdate)
            GROUP BY s_name ORDER BY waiting DESC, s_name",
    },
    Question {
        name: "customers without orders",
        top: 0,
        text: "SELECT code, COUNT(*) AS customers, SUM(c_acctbal) AS balance FROM (
                SELECT SUBSTRING(c_phone, 1, 2) AS code, c_acctbal FROM customer
                WHERE SUBSTRING(c_phone, 1, 2) IN (:1) AND c_acctbal > (
                    SELECT AVG(c_acctbal) FROM customer WHERE c_acctbal > 0 AND SUBSTRING(c_phone, 1, 2) IN (:1))
                AND NOT EXISTS (SELECT * FROM orders WHERE o_custkey = c_custkey)) AS idle
            GROUP BY code ORDER BY code",
    },
];
