-- Values of keys in 2601 and 2627, in the product's forms.
CREATE TABLE binaries (b varbinary(20) PRIMARY KEY);
INSERT binaries VALUES (0x01AB), (0x01AB);
GO
CREATE TABLE others (g uniqueidentifier, d datetime, a date, m datetime2(3), o datetimeoffset(2), t time(0), v sql_variant, n nvarchar(20));
CREATE UNIQUE INDEX every_type ON others (g, d, a, m, o, t, v, n);
INSERT others VALUES ('6F9619FF-8B86-D011-B42D-00C04FC964FF', '2026-01-02 03:04:05.123', '2026-01-02', '2026-01-02 03:04:05.123',
    '2026-01-02 03:04:05.12 +01:00', '03:04:05', 0x0f, NULL);
INSERT others SELECT * FROM others;
GO
