//! The words collation names begin with: their locale, code page, and whose rules order them.

/// One designator with its version.
pub(super) struct Family {
    /// What names begin with, version included.
    pub name: &'static str,
    /// 0 (80), 1 (90), 2 (100), 3 (140) or 4 (160).
    pub version: u8,
    /// Windows locale, with its sort id above.
    pub lcid: u32,
    /// Code page of non-national text; 0 when there is none.
    pub page: u16,
    /// Locale whose rules order strings.
    pub locale: &'static str,
    /// Whether `sys.fn_helpcollations` shows it.
    pub listed: bool,
}

macro_rules! families {
    ($($name:literal $version:literal $lcid:literal $page:literal $locale:literal $($hidden:ident)?;)*) => {
        &[$(Family {
            name: $name, version: $version, lcid: $lcid, page: $page, locale: $locale,
            listed: families!(@listed $($hidden)?),
        },)*]
    };
    (@listed) => { true };
    (@listed hidden) => { false };
}

/// Windows collations.
#[rustfmt::skip]
pub(super) const FAMILIES: &[Family] = families! {
    "Albanian" 0 0x041c 1250 "sq";
    "Arabic" 0 0x0401 1256 "ar";
    "Chinese_PRC" 0 0x0804 936 "zh-u-co-pinyin";
    "Chinese_PRC_Stroke" 0 0x20804 936 "zh-u-co-stroke";
    "Chinese_Taiwan_Bopomofo" 0 0x30404 950 "zh-u-co-zhuyin";
    "Chinese_Taiwan_Stroke" 0 0x0404 950 "zh-u-co-stroke";
    "Croatian" 0 0x041a 1250 "hr";
    "Cyrillic_General" 0 0x0419 1251 "und";
    "Czech" 0 0x0405 1250 "cs";
    "Danish_Norwegian" 0 0x0406 1252 "da";
    "Estonian" 0 0x0425 1257 "et";
    "Finnish_Swedish" 0 0x040b 1252 "sv";
    "French" 0 0x040c 1252 "fr-CA";
    "Georgian_Modern_Sort" 0 0x10437 1252 "ka";
    "German_PhoneBook" 0 0x10407 1252 "de-u-co-phonebk";
    "Greek" 0 0x0408 1253 "el";
    "Hebrew" 0 0x040d 1255 "he";
    "Hungarian" 0 0x040e 1250 "hu";
    "Hungarian_Technical" 0 0x1040e 1250 "hu";
    "Icelandic" 0 0x040f 1252 "is";
    "Japanese" 0 0x0411 932 "ja";
    "Japanese_Unicode" 0 0x10411 932 "ja";
    "Korean_Wansung" 0 0x0412 949 "ko";
    "Latin1_General" 0 0x0409 1252 "und";
    "Latvian" 0 0x0426 1257 "lv";
    "Lithuanian" 0 0x0427 1257 "lt";
    "Modern_Spanish" 0 0x0c0a 1252 "es";
    "Polish" 0 0x0415 1250 "pl";
    "Romanian" 0 0x0418 1250 "ro";
    "Slovak" 0 0x041b 1250 "sk";
    "Slovenian" 0 0x0424 1250 "sl";
    "Thai" 0 0x041e 874 "th";
    "Traditional_Spanish" 0 0x040a 1252 "es-u-co-trad";
    "Turkish" 0 0x041f 1254 "tr";
    "Ukrainian" 0 0x0422 1251 "uk";
    "Vietnamese" 0 0x042a 1258 "vi";
    "Hindi" 0 0x0439 0 "hi" hidden;
    "Korean_Wansung_Unicode" 0 0x10412 949 "ko" hidden;
    "Lithuanian_Classic" 0 0x0827 1257 "lt" hidden;
    "Macedonian" 0 0x042f 1251 "mk" hidden;
    "Chinese_Hong_Kong_Stroke_90" 1 0x0c04 950 "zh-u-co-stroke";
    "Chinese_PRC_90" 1 0x0804 936 "zh-u-co-pinyin";
    "Chinese_PRC_Stroke_90" 1 0x20804 936 "zh-u-co-stroke";
    "Chinese_Taiwan_Bopomofo_90" 1 0x30404 950 "zh-u-co-zhuyin";
    "Chinese_Taiwan_Stroke_90" 1 0x0404 950 "zh-u-co-stroke";
    "Divehi_90" 1 0x0465 0 "und";
    "Indic_General_90" 1 0x0439 0 "hi";
    "Japanese_90" 1 0x0411 932 "ja";
    "Kazakh_90" 1 0x043f 1251 "kk";
    "Korean_90" 1 0x0412 949 "ko";
    "Macedonian_FYROM_90" 1 0x042f 1251 "mk";
    "Syriac_90" 1 0x045a 0 "und";
    "Tatar_90" 1 0x0444 1251 "und";
    "Uzbek_Latin_90" 1 0x0443 1254 "uz";
    "Azeri_Cyrillic_90" 1 0x082c 1251 "az-Cyrl" hidden;
    "Azeri_Latin_90" 1 0x042c 1254 "az" hidden;
    "Albanian_100" 2 0x041c 1250 "sq";
    "Arabic_100" 2 0x0401 1256 "ar";
    "Assamese_100" 2 0x044d 0 "as";
    "Azeri_Cyrillic_100" 2 0x082c 1251 "az-Cyrl";
    "Azeri_Latin_100" 2 0x042c 1254 "az";
    "Bashkir_100" 2 0x046d 1251 "und";
    "Bengali_100" 2 0x0445 0 "bn";
    "Bosnian_Cyrillic_100" 2 0x201a 1251 "bs-Cyrl";
    "Bosnian_Latin_100" 2 0x141a 1250 "bs";
    "Breton_100" 2 0x047e 1252 "br";
    "Chinese_Simplified_Pinyin_100" 2 0x0804 936 "zh-u-co-pinyin";
    "Chinese_Simplified_Stroke_Order_100" 2 0x20804 936 "zh-u-co-stroke";
    "Chinese_Traditional_Bopomofo_100" 2 0x30404 950 "zh-u-co-zhuyin";
    "Chinese_Traditional_Pinyin_100" 2 0x1404 950 "zh-u-co-pinyin";
    "Chinese_Traditional_Stroke_Count_100" 2 0x0404 950 "zh-u-co-stroke";
    "Chinese_Traditional_Stroke_Order_100" 2 0x21404 950 "zh-u-co-stroke";
    "Corsican_100" 2 0x0483 1252 "und";
    "Croatian_100" 2 0x041a 1250 "hr";
    "Cyrillic_General_100" 2 0x0419 1251 "und";
    "Czech_100" 2 0x0405 1250 "cs";
    "Danish_Greenlandic_100" 2 0x0406 1252 "da";
    "Dari_100" 2 0x048c 1256 "fa-AF";
    "Divehi_100" 2 0x0465 0 "und";
    "Estonian_100" 2 0x0425 1257 "et";
    "Finnish_Swedish_100" 2 0x040b 1252 "sv";
    "French_100" 2 0x040c 1252 "fr-CA";
    "Frisian_100" 2 0x0462 1252 "und";
    "Georgian_Modern_Sort_100" 2 0x10437 1252 "ka";
    "German_PhoneBook_100" 2 0x10407 1252 "de-u-co-phonebk";
    "Greek_100" 2 0x0408 1253 "el";
    "Hebrew_100" 2 0x040d 1255 "he";
    "Hungarian_100" 2 0x040e 1250 "hu";
    "Hungarian_Technical_100" 2 0x1040e 1250 "hu";
    "Icelandic_100" 2 0x040f 1252 "is";
    "Indic_General_100" 2 0x0439 0 "hi";
    "Japanese_Bushu_Kakusu_100" 2 0x40411 932 "ja-u-co-unihan";
    "Japanese_XJIS_100" 2 0x0411 932 "ja";
    "Kazakh_100" 2 0x043f 1251 "kk";
    "Khmer_100" 2 0x0453 0 "km";
    "Korean_100" 2 0x0412 949 "ko";
    "Lao_100" 2 0x0454 0 "lo";
    "Latin1_General_100" 2 0x0409 1252 "und";
    "Latvian_100" 2 0x0426 1257 "lv";
    "Lithuanian_100" 2 0x0427 1257 "lt";
    "Macedonian_FYROM_100" 2 0x042f 1251 "mk";
    "Maltese_100" 2 0x043a 0 "mt";
    "Maori_100" 2 0x0481 0 "und";
    "Mapudungan_100" 2 0x047a 1252 "und";
    "Modern_Spanish_100" 2 0x0c0a 1252 "es";
    "Mohawk_100" 2 0x047c 1252 "und";
    "Nepali_100" 2 0x0461 0 "ne";
    "Norwegian_100" 2 0x0414 1252 "nb";
    "Pashto_100" 2 0x0463 0 "ps";
    "Persian_100" 2 0x0429 1256 "fa";
    "Polish_100" 2 0x0415 1250 "pl";
    "Romanian_100" 2 0x0418 1250 "ro";
    "Romansh_100" 2 0x0417 1252 "und";
    "Sami_Norway_100" 2 0x043b 1252 "se";
    "Sami_Sweden_Finland_100" 2 0x083b 1252 "se";
    "Serbian_Cyrillic_100" 2 0x0c1a 1251 "sr";
    "Serbian_Latin_100" 2 0x081a 1250 "sr-Latn";
    "Slovak_100" 2 0x041b 1250 "sk";
    "Slovenian_100" 2 0x0424 1250 "sl";
    "Syriac_100" 2 0x045a 0 "und";
    "Tamazight_100" 2 0x085f 1252 "und";
    "Tatar_100" 2 0x0444 1251 "und";
    "Thai_100" 2 0x041e 874 "th";
    "Tibetan_100" 2 0x0451 0 "und";
    "Traditional_Spanish_100" 2 0x040a 1252 "es-u-co-trad";
    "Turkish_100" 2 0x041f 1254 "tr";
    "Turkmen_100" 2 0x0442 1250 "tk";
    "Uighur_100" 2 0x0480 1256 "ug";
    "Ukrainian_100" 2 0x0422 1251 "uk";
    "Upper_Sorbian_100" 2 0x042e 1252 "hsb";
    "Urdu_100" 2 0x0420 1256 "ur";
    "Uzbek_Latin_100" 2 0x0443 1254 "uz";
    "Vietnamese_100" 2 0x042a 1258 "vi";
    "Welsh_100" 2 0x0452 1252 "cy";
    "Yakut_100" 2 0x0485 1251 "und";
    "Japanese_Bushu_Kakusu_140" 3 0x40411 932 "ja-u-co-unihan";
    "Japanese_XJIS_140" 3 0x0411 932 "ja";
    "Chinese_Simplified_Pinyin_160" 4 0x0804 936 "zh-u-co-pinyin" hidden;
    "Chinese_Simplified_Stroke_Order_160" 4 0x20804 936 "zh-u-co-stroke" hidden;
};

/// A collation of the older kind, by a sort order.
pub(super) struct SqlName {
    /// The whole name.
    pub name: &'static str,
    /// Its number on the wire.
    pub sort_id: u8,
    /// Windows locale.
    pub lcid: u32,
    /// Locale whose rules order strings.
    pub locale: &'static str,
    /// Whether `sys.fn_helpcollations` shows it.
    pub listed: bool,
}

macro_rules! sql_names {
    ($($name:literal $sort_id:literal $lcid:literal $locale:literal $($hidden:ident)?;)*) => {
        &[$(SqlName {
            name: $name, sort_id: $sort_id, lcid: $lcid, locale: $locale, listed: families!(@listed $($hidden)?),
        },)*]
    };
}

/// Collations named after a sort order and a code page.
#[rustfmt::skip]
pub(super) const SQL_NAMES: &[SqlName] = sql_names! {
    "SQL_1xCompat_CP850_CI_AS" 49 0x0409 "und";
    "SQL_AltDiction_CP850_CI_AI" 57 0x0409 "und";
    "SQL_AltDiction_CP850_CI_AS" 61 0x0409 "und";
    "SQL_AltDiction_CP850_CS_AS" 55 0x0409 "und";
    "SQL_AltDiction_CP1253_CS_AS" 121 0x0408 "el" hidden;
    "SQL_AltDiction_Pref_CP850_CI_AS" 56 0x0409 "und";
    "SQL_AltDiction2_CP1253_CS_AS" 122 0x0408 "el";
    "SQL_Croatian_CP1250_CI_AS" 92 0x041a "hr";
    "SQL_Croatian_CP1250_CS_AS" 91 0x041a "hr";
    "SQL_Czech_CP1250_CI_AS" 84 0x0405 "cs";
    "SQL_Czech_CP1250_CS_AS" 83 0x0405 "cs";
    "SQL_Danish_Pref_CP1_CI_AS" 183 0x0406 "da";
    "SQL_EBCDIC037_CP1_CS_AS" 210 0x0409 "und";
    "SQL_EBCDIC1141_CP1_CS_AS" 218 0x0407 "und";
    "SQL_EBCDIC273_CP1_CS_AS" 211 0x0407 "und";
    "SQL_EBCDIC277_2_CP1_CS_AS" 219 0x0406 "da";
    "SQL_EBCDIC277_CP1_CS_AS" 212 0x0406 "da";
    "SQL_EBCDIC278_CP1_CS_AS" 213 0x040b "sv";
    "SQL_EBCDIC280_CP1_CS_AS" 214 0x0410 "und";
    "SQL_EBCDIC284_CP1_CS_AS" 215 0x040a "und";
    "SQL_EBCDIC285_CP1_CS_AS" 216 0x0809 "und";
    "SQL_EBCDIC297_CP1_CS_AS" 217 0x040c "und";
    "SQL_Estonian_CP1257_CI_AS" 156 0x0425 "et";
    "SQL_Estonian_CP1257_CS_AS" 155 0x0425 "et";
    "SQL_Hungarian_CP1250_CI_AS" 86 0x040e "hu";
    "SQL_Hungarian_CP1250_CS_AS" 85 0x040e "hu";
    "SQL_Icelandic_Pref_CP1_CI_AS" 186 0x040f "is";
    "SQL_Latin1_General_CP1_CI_AI" 54 0x0409 "und";
    "SQL_Latin1_General_CP1_CI_AS" 52 0x0409 "und";
    "SQL_Latin1_General_CP1_CS_AS" 51 0x0409 "und";
    "SQL_Latin1_General_CP1250_CI_AS" 82 0x0409 "und";
    "SQL_Latin1_General_CP1250_CS_AS" 81 0x0409 "und";
    "SQL_Latin1_General_CP1251_CI_AS" 106 0x0419 "und";
    "SQL_Latin1_General_CP1251_CS_AS" 105 0x0419 "und";
    "SQL_Latin1_General_CP1253_CI_AI" 124 0x0408 "el";
    "SQL_Latin1_General_CP1253_CI_AS" 114 0x0408 "el";
    "SQL_Latin1_General_CP1253_CS_AS" 113 0x0408 "el";
    "SQL_Latin1_General_CP1254_CI_AS" 130 0x041f "tr";
    "SQL_Latin1_General_CP1254_CS_AS" 129 0x041f "tr";
    "SQL_Latin1_General_CP1255_CI_AS" 138 0x040d "he";
    "SQL_Latin1_General_CP1255_CS_AS" 137 0x040d "he";
    "SQL_Latin1_General_CP1256_CI_AS" 146 0x0401 "ar";
    "SQL_Latin1_General_CP1256_CS_AS" 145 0x0401 "ar";
    "SQL_Latin1_General_CP1257_CI_AS" 154 0x0425 "und";
    "SQL_Latin1_General_CP1257_CS_AS" 153 0x0425 "und";
    "SQL_Latin1_General_CP437_BIN" 30 0x0409 "und";
    "SQL_Latin1_General_CP437_BIN2" 35 0x0409 "und";
    "SQL_Latin1_General_CP437_CI_AI" 34 0x0409 "und";
    "SQL_Latin1_General_CP437_CI_AS" 32 0x0409 "und";
    "SQL_Latin1_General_CP437_CS_AS" 31 0x0409 "und";
    "SQL_Latin1_General_CP850_BIN" 40 0x0409 "und";
    "SQL_Latin1_General_CP850_BIN2" 45 0x0409 "und";
    "SQL_Latin1_General_CP850_CI_AI" 44 0x0409 "und";
    "SQL_Latin1_General_CP850_CI_AS" 42 0x0409 "und";
    "SQL_Latin1_General_CP850_CS_AS" 41 0x0409 "und";
    "SQL_Latin1_General_Pref_CP1_CI_AS" 53 0x0409 "und";
    "SQL_Latin1_General_Pref_CP437_CI_AS" 33 0x0409 "und";
    "SQL_Latin1_General_Pref_CP850_CI_AS" 43 0x0409 "und";
    "SQL_Latvian_CP1257_CI_AS" 158 0x0426 "lv";
    "SQL_Latvian_CP1257_CS_AS" 157 0x0426 "lv";
    "SQL_Lithuanian_CP1257_CI_AS" 160 0x0427 "lt";
    "SQL_Lithuanian_CP1257_CS_AS" 159 0x0427 "lt";
    "SQL_MixDiction_CP1253_CS_AS" 120 0x0408 "el";
    "SQL_Polish_CP1250_CI_AS" 88 0x0415 "pl";
    "SQL_Polish_CP1250_CS_AS" 87 0x0415 "pl";
    "SQL_Romanian_CP1250_CI_AS" 90 0x0418 "ro";
    "SQL_Romanian_CP1250_CS_AS" 89 0x0418 "ro";
    "SQL_Scandinavian_CP850_CI_AS" 60 0x0406 "da";
    "SQL_Scandinavian_CP850_CS_AS" 59 0x0406 "da";
    "SQL_Scandinavian_Pref_CP850_CI_AS" 58 0x0406 "da";
    "SQL_Slovak_CP1250_CI_AS" 94 0x041b "sk";
    "SQL_Slovak_CP1250_CS_AS" 93 0x041b "sk";
    "SQL_Slovenian_CP1250_CI_AS" 96 0x0424 "sl";
    "SQL_Slovenian_CP1250_CS_AS" 95 0x0424 "sl";
    "SQL_SwedishPhone_Pref_CP1_CI_AS" 184 0x041d "sv";
    "SQL_SwedishStd_Pref_CP1_CI_AS" 185 0x041d "sv";
    "SQL_Ukrainian_CP1251_CI_AS" 108 0x0422 "uk";
    "SQL_Ukrainian_CP1251_CS_AS" 107 0x0422 "uk";
};
