-- QUOTED_IDENTIFIER OFF
SELECT "text" AS a, [b] FROM t WHERE c = "it's ""x"""
