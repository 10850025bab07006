-- FORMAT and PARSE as cultures write numbers and dates; without one, as that of the session's language does.
DECLARE @d datetime = '2018-01-02 15:04:05';
SELECT FORMAT(@d, 'd', 'ja-JP') AS ja, FORMAT(@d, 'D', 'pt-BR') AS pt, FORMAT(@d, 'D', 'ru') AS ru, FORMAT(@d, 'G', 'zh-TW') AS tw, FORMAT(@d, 'yyyy/MM/dd', 'de-DE') AS separated;
SELECT FORMAT(1234567.891, 'N', 'en-IN') AS lakhs, FORMAT(-5.5, 'C', 'nl-NL') AS nl, FORMAT(-5.5, 'C') AS us, FORMAT(0.5, 'P', 'tr-TR') AS tr, FORMAT(1234.5, '#,##0.00', 'de-CH') AS ch;
SELECT FORMAT(@d, 'MMMM', 'pl-PL') AS month, FORMAT(@d, 'd MMMM', 'pl-PL') AS of_month, FORMAT(@d, 'ddd d MMM', 'fr-FR') AS short;
SELECT PARSE('2 stycznia 2018' AS date USING 'pl-PL') AS d, PARSE('1.234,5' AS decimal(9, 2) USING 'it') AS n;
GO
SET LANGUAGE German;
SELECT FORMAT(1234.5, 'N') AS n, FORMAT(CAST('20180102' AS date), 'D') AS d, PARSE('1.234,5' AS decimal(9, 2)) AS parsed;
SET LANGUAGE us_english;
GO
SELECT FORMAT(1, 'N', 'qq-QQ');
GO
-- Exponents, digits, offsets, times.
SELECT FORMAT(1234567, '0.00E+00') AS e, FORMAT(1e0 / 3, 'G') AS g, FORMAT(CAST(1e0 / 3 AS real), 'G') AS r, FORMAT(123456789012345678e0, 'N0') AS n, FORMAT(12345.678, 'G3') AS g3;
SELECT FORMAT(CAST('2018-01-02 01:00 +02:00' AS datetimeoffset), 'u') AS u, FORMAT(CAST('10:20:30' AS time), 'hh\:mm') AS t, FORMAT(CAST('10:20:30' AS time), 'HH:mm') AS none;
GO
