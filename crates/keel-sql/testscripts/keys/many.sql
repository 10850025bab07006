-- A key has 32 encryptions at most, and no password twice.
create symmetric key k with algorithm = aes_128 encryption by password = 'p0', password = 'p1', password = 'p2', password = 'p3', password = 'p4', password = 'p5', password = 'p6', password = 'p7', password = 'p8', password = 'p9', password = 'p10', password = 'p11', password = 'p12', password = 'p13', password = 'p14', password = 'p15', password = 'p16', password = 'p17', password = 'p18', password = 'p19', password = 'p20', password = 'p21', password = 'p22', password = 'p23', password = 'p24', password = 'p25', password = 'p26', password = 'p27', password = 'p28', password = 'p29', password = 'p30', password = 'p31', password = 'p32'
GO
create symmetric key k with algorithm = aes_128 encryption by password = 'a', password = 'b', password = 'a'
GO
create symmetric key k with algorithm = aes_128 encryption by password = 'a', password = 'b'
open symmetric key k decryption by password = 'b'
alter symmetric key k add encryption by password = 'c', password = 'a'
GO
