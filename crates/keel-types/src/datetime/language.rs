//! The languages of `SET LANGUAGE`: what each calls months and days, in which order it reads dates, and with which day its week begins.
//!
//! They are the 34 that the product installs, with its numbers and names (`sys.syslanguages` of SQL Server). Messages are English in all
//! of them.

use super::parse::DateOrder;

/// One language.
#[derive(Debug)]
pub struct Language {
    /// `@@LANGID`.
    pub id: i16,
    /// `@@LANGUAGE`: what it calls itself.
    pub name: &'static str,
    /// What it is called in English, which `SET LANGUAGE` takes as well.
    pub alias: &'static str,
    /// `DATEFORMAT` under it.
    pub order: DateOrder,
    /// `DATEFIRST` under it, 1 = Monday … 7 = Sunday.
    pub first: u8,
    /// Windows' number for it.
    pub lcid: i32,
    /// `lcid` of the language that the product has messages in.
    pub messages: i16,
    /// The culture that `FORMAT` and `PARSE` take under it.
    pub culture: &'static str,
    /// Months, separated by commas.
    pub months: &'static str,
    /// Months abbreviated, separated by commas.
    pub short_months: &'static str,
    /// Days, Monday first, separated by commas.
    pub days: &'static str,
}

impl PartialEq for Language {
    fn eq(&self, other: &Language) -> bool {
        self.id == other.id
    }
}

impl Language {
    /// The one of that name or alias, whatever the case of its letters.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Language> {
        LANGUAGES.iter().find(|l| is_same(l.name, name) || is_same(l.alias, name))
    }

    /// us_english.
    #[must_use]
    pub fn us_english() -> &'static Language {
        &LANGUAGES[0]
    }

    /// The month from 1 to 12.
    #[must_use]
    pub fn month(&self, month: u32) -> &'static str {
        nth(self.months, month.saturating_sub(1))
    }

    /// The month from 1 to 12, abbreviated.
    #[must_use]
    pub fn short_month(&self, month: u32) -> &'static str {
        nth(self.short_months, month.saturating_sub(1))
    }

    /// The day from 0, which is Monday, to 6.
    #[must_use]
    pub fn day(&self, weekday: u32) -> &'static str {
        nth(self.days, weekday)
    }

    /// The month, from 1 on, that a word names, in full or abbreviated.
    pub(super) fn month_named(&self, word: &str) -> Option<u32> {
        let among = |names: &str| names.split(',').position(|name| is_same(name, word));
        let at = among(self.months).or_else(|| among(self.short_months));
        // What has always been read, though it is no abbreviation that is written.
        let at = at.or_else(|| {
            (is_same(word, "sept") && self.short_months.starts_with("Jan,Feb,Mar,Apr,May")).then_some(8)
        })?;
        u32::try_from(at + 1).ok()
    }
}

/// Whether both are the same letters, whatever their case.
fn is_same(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b) || (!a.is_ascii() && a.to_lowercase() == b.to_lowercase())
}

fn nth(names: &'static str, at: u32) -> &'static str {
    names.split(',').nth(at as usize).unwrap_or_default()
}

/// What the session decides about reading and writing dates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dates {
    /// `SET DATEFORMAT`
    pub order: DateOrder,
    /// `SET LANGUAGE`
    pub language: &'static Language,
}

impl Dates {
    /// Those of us_english.
    pub const US: Dates = Dates { order: DateOrder::Mdy, language: &LANGUAGES[0] };
}

impl Default for Dates {
    fn default() -> Dates {
        Dates::US
    }
}

/// All of them, each at the place of its number.
pub static LANGUAGES: [Language; 34] = [
    Language {
        id: 0,
        name: "us_english",
        alias: "English",
        order: DateOrder::Mdy,
        first: 7,
        lcid: 1033,
        messages: 1033,
        culture: "en-US",
        months: "January,February,March,April,May,June,July,August,September,October,November,December",
        short_months: "Jan,Feb,Mar,Apr,May,Jun,Jul,Aug,Sep,Oct,Nov,Dec",
        days: "Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday",
    },
    Language {
        id: 1,
        name: "Deutsch",
        alias: "German",
        order: DateOrder::Dmy,
        first: 1,
        lcid: 1031,
        messages: 1031,
        culture: "de-DE",
        months: "Januar,Februar,März,April,Mai,Juni,Juli,August,September,Oktober,November,Dezember",
        short_months: "Jan,Feb,Mär,Apr,Mai,Jun,Jul,Aug,Sep,Okt,Nov,Dez",
        days: "Montag,Dienstag,Mittwoch,Donnerstag,Freitag,Samstag,Sonntag",
    },
    Language {
        id: 2,
        name: "Français",
        alias: "French",
        order: DateOrder::Dmy,
        first: 1,
        lcid: 1036,
        messages: 1036,
        culture: "fr-FR",
        months: "janvier,février,mars,avril,mai,juin,juillet,août,septembre,octobre,novembre,décembre",
        short_months: "janv,févr,mars,avr,mai,juin,juil,août,sept,oct,nov,déc",
        days: "lundi,mardi,mercredi,jeudi,vendredi,samedi,dimanche",
    },
    Language {
        id: 3,
        name: "日本語",
        alias: "Japanese",
        order: DateOrder::Ymd,
        first: 7,
        lcid: 1041,
        messages: 1041,
        culture: "ja-JP",
        months: "01,02,03,04,05,06,07,08,09,10,11,12",
        short_months: "01,02,03,04,05,06,07,08,09,10,11,12",
        days: "月曜日,火曜日,水曜日,木曜日,金曜日,土曜日,日曜日",
    },
    Language {
        id: 4,
        name: "Dansk",
        alias: "Danish",
        order: DateOrder::Dmy,
        first: 1,
        lcid: 1030,
        messages: 1030,
        culture: "da-DK",
        months: "januar,februar,marts,april,maj,juni,juli,august,september,oktober,november,december",
        short_months: "jan,feb,mar,apr,maj,jun,jul,aug,sep,okt,nov,dec",
        days: "mandag,tirsdag,onsdag,torsdag,fredag,lørdag,søndag",
    },
    Language {
        id: 5,
        name: "Español",
        alias: "Spanish",
        order: DateOrder::Dmy,
        first: 1,
        lcid: 3082,
        messages: 3082,
        culture: "es-ES",
        months: "Enero,Febrero,Marzo,Abril,Mayo,Junio,Julio,Agosto,Septiembre,Octubre,Noviembre,Diciembre",
        short_months: "Ene,Feb,Mar,Abr,May,Jun,Jul,Ago,Sep,Oct,Nov,Dic",
        days: "Lunes,Martes,Miércoles,Jueves,Viernes,Sábado,Domingo",
    },
    Language {
        id: 6,
        name: "Italiano",
        alias: "Italian",
        order: DateOrder::Dmy,
        first: 1,
        lcid: 1040,
        messages: 1040,
        culture: "it-IT",
        months: "gennaio,febbraio,marzo,aprile,maggio,giugno,luglio,agosto,settembre,ottobre,novembre,dicembre",
        short_months: "gen,feb,mar,apr,mag,giu,lug,ago,set,ott,nov,dic",
        days: "lunedì,martedì,mercoledì,giovedì,venerdì,sabato,domenica",
    },
    Language {
        id: 7,
        name: "Nederlands",
        alias: "Dutch",
        order: DateOrder::Dmy,
        first: 1,
        lcid: 1043,
        messages: 1043,
        culture: "nl-NL",
        months: "januari,februari,maart,april,mei,juni,juli,augustus,september,oktober,november,december",
        short_months: "jan,feb,mrt,apr,mei,jun,jul,aug,sep,okt,nov,dec",
        days: "maandag,dinsdag,woensdag,donderdag,vrijdag,zaterdag,zondag",
    },
    Language {
        id: 8,
        name: "Norsk",
        alias: "Norwegian",
        order: DateOrder::Dmy,
        first: 1,
        lcid: 2068,
        messages: 2068,
        culture: "nn-NO",
        months: "januar,februar,mars,april,mai,juni,juli,august,september,oktober,november,desember",
        short_months: "jan,feb,mar,apr,mai,jun,jul,aug,sep,okt,nov,des",
        days: "mandag,tirsdag,onsdag,torsdag,fredag,lørdag,søndag",
    },
    Language {
        id: 9,
        name: "Português",
        alias: "Portuguese",
        order: DateOrder::Dmy,
        first: 7,
        lcid: 2070,
        messages: 2070,
        culture: "pt-PT",
        months: "janeiro,fevereiro,março,abril,maio,junho,julho,agosto,setembro,outubro,novembro,dezembro",
        short_months: "jan,fev,mar,abr,mai,jun,jul,ago,set,out,nov,dez",
        days: "segunda-feira,terça-feira,quarta-feira,quinta-feira,sexta-feira,sábado,domingo",
    },
    Language {
        id: 10,
        name: "Suomi",
        alias: "Finnish",
        order: DateOrder::Dmy,
        first: 1,
        lcid: 1035,
        messages: 1035,
        culture: "fi-FI",
        months: "tammikuuta,helmikuuta,maaliskuuta,huhtikuuta,toukokuuta,kesäkuuta,heinäkuuta,elokuuta,syyskuuta,lokakuuta,marraskuuta,joulukuuta",
        short_months: "tammi,helmi,maalis,huhti,touko,kesä,heinä,elo,syys,loka,marras,joulu",
        days: "maanantai,tiistai,keskiviikko,torstai,perjantai,lauantai,sunnuntai",
    },
    Language {
        id: 11,
        name: "Svenska",
        alias: "Swedish",
        order: DateOrder::Ymd,
        first: 1,
        lcid: 1053,
        messages: 1053,
        culture: "sv-SE",
        months: "januari,februari,mars,april,maj,juni,juli,augusti,september,oktober,november,december",
        short_months: "jan,feb,mar,apr,maj,jun,jul,aug,sep,okt,nov,dec",
        days: "måndag,tisdag,onsdag,torsdag,fredag,lördag,söndag",
    },
    Language {
        id: 12,
        name: "čeština",
        alias: "Czech",
        order: DateOrder::Dmy,
        first: 1,
        lcid: 1029,
        messages: 1029,
        culture: "cs-CZ",
        months: "leden,únor,březen,duben,květen,červen,červenec,srpen,září,říjen,listopad,prosinec",
        short_months: "I,II,III,IV,V,VI,VII,VIII,IX,X,XI,XII",
        days: "pondělí,úterý,středa,čtvrtek,pátek,sobota,neděle",
    },
    Language {
        id: 13,
        name: "magyar",
        alias: "Hungarian",
        order: DateOrder::Ymd,
        first: 1,
        lcid: 1038,
        messages: 1038,
        culture: "hu-HU",
        months: "január,február,március,április,május,június,július,augusztus,szeptember,október,november,december",
        short_months: "jan,febr,márc,ápr,máj,jún,júl,aug,szept,okt,nov,dec",
        days: "hétfő,kedd,szerda,csütörtök,péntek,szombat,vasárnap",
    },
    Language {
        id: 14,
        name: "polski",
        alias: "Polish",
        order: DateOrder::Dmy,
        first: 1,
        lcid: 1045,
        messages: 1045,
        culture: "pl-PL",
        months: "styczeń,luty,marzec,kwiecień,maj,czerwiec,lipiec,sierpień,wrzesień,październik,listopad,grudzień",
        short_months: "I,II,III,IV,V,VI,VII,VIII,IX,X,XI,XII",
        days: "poniedziałek,wtorek,środa,czwartek,piątek,sobota,niedziela",
    },
    Language {
        id: 15,
        name: "română",
        alias: "Romanian",
        order: DateOrder::Dmy,
        first: 1,
        lcid: 1048,
        messages: 1048,
        culture: "ro-RO",
        months: "ianuarie,februarie,martie,aprilie,mai,iunie,iulie,august,septembrie,octombrie,noiembrie,decembrie",
        short_months: "Ian,Feb,Mar,Apr,Mai,Iun,Iul,Aug,Sep,Oct,Nov,Dec",
        days: "luni,marţi,miercuri,joi,vineri,sîmbătă,duminică",
    },
    Language {
        id: 16,
        name: "hrvatski",
        alias: "Croatian",
        order: DateOrder::Ymd,
        first: 1,
        lcid: 1050,
        messages: 1050,
        culture: "hr-HR",
        months: "siječanj,veljača,ožujak,travanj,svibanj,lipanj,srpanj,kolovoz,rujan,listopad,studeni,prosinac",
        short_months: "sij,vel,ožu,tra,svi,lip,srp,kol,ruj,lis,stu,pro",
        days: "ponedjeljak,utorak,srijeda,četvrtak,petak,subota,nedjelja",
    },
    Language {
        id: 17,
        name: "slovenčina",
        alias: "Slovak",
        order: DateOrder::Dmy,
        first: 1,
        lcid: 1051,
        messages: 1051,
        culture: "sk-SK",
        months: "január,február,marec,apríl,máj,jún,júl,august,september,október,november,december",
        short_months: "I,II,III,IV,V,VI,VII,VIII,IX,X,XI,XII",
        days: "pondelok,utorok,streda,štvrtok,piatok,sobota,nedeľa",
    },
    Language {
        id: 18,
        name: "slovenski",
        alias: "Slovenian",
        order: DateOrder::Dmy,
        first: 1,
        lcid: 1060,
        messages: 1060,
        culture: "sl-SI",
        months: "januar,februar,marec,april,maj,junij,julij,avgust,september,oktober,november,december",
        short_months: "jan,feb,mar,apr,maj,jun,jul,avg,sept,okt,nov,dec",
        days: "ponedeljek,torek,sreda,četrtek,petek,sobota,nedelja",
    },
    Language {
        id: 19,
        name: "ελληνικά",
        alias: "Greek",
        order: DateOrder::Dmy,
        first: 1,
        lcid: 1032,
        messages: 1032,
        culture: "el-GR",
        months: "Ιανουαρίου,Φεβρουαρίου,Μαρτίου,Απριλίου,Μα_ου,Ιουνίου,Ιουλίου,Αυγούστου,Σεπτεμβρίου,Οκτωβρίου,Νοεμβρίου,Δεκεμβρίου",
        short_months: "Ιαν,Φεβ,Μαρ,Απρ,Μαϊ,Ιουν,Ιουλ,Αυγ,Σεπ,Οκτ,Νοε,Δεκ",
        days: "Δευτέρα,Τρίτη,Τετάρτη,Πέμπτη,Παρασκευή,Σάββατο,Κυριακή",
    },
    Language {
        id: 20,
        name: "български",
        alias: "Bulgarian",
        order: DateOrder::Dmy,
        first: 1,
        lcid: 1026,
        messages: 1026,
        culture: "bg-BG",
        months: "януари,февруари,март,април,май,юни,юли,август,септември,октомври,ноември,декември",
        short_months: "януари,февруари,март,април,май,юни,юли,август,септември,октомври,ноември,декември",
        days: "понеделник,вторник,сряда,четвъртък,петък,събота,неделя",
    },
    Language {
        id: 21,
        name: "русский",
        alias: "Russian",
        order: DateOrder::Dmy,
        first: 1,
        lcid: 1049,
        messages: 1049,
        culture: "ru-RU",
        months: "Январь,Февраль,Март,Апрель,Май,Июнь,Июль,Август,Сентябрь,Октябрь,Ноябрь,Декабрь",
        short_months: "янв,фев,мар,апр,май,июн,июл,авг,сен,окт,ноя,дек",
        days: "понедельник,вторник,среда,четверг,пятница,суббота,воскресенье",
    },
    Language {
        id: 22,
        name: "Türkçe",
        alias: "Turkish",
        order: DateOrder::Dmy,
        first: 1,
        lcid: 1055,
        messages: 1055,
        culture: "tr-TR",
        months: "Ocak,Şubat,Mart,Nisan,Mayıs,Haziran,Temmuz,Ağustos,Eylül,Ekim,Kasım,Aralık",
        short_months: "Oca,Şub,Mar,Nis,May,Haz,Tem,Ağu,Eyl,Eki,Kas,Ara",
        days: "Pazartesi,Salı,Çarşamba,Perşembe,Cuma,Cumartesi,Pazar",
    },
    Language {
        id: 23,
        name: "British",
        alias: "British English",
        order: DateOrder::Dmy,
        first: 1,
        lcid: 2057,
        messages: 1033,
        culture: "en-GB",
        months: "January,February,March,April,May,June,July,August,September,October,November,December",
        short_months: "Jan,Feb,Mar,Apr,May,Jun,Jul,Aug,Sep,Oct,Nov,Dec",
        days: "Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday",
    },
    Language {
        id: 24,
        name: "eesti",
        alias: "Estonian",
        order: DateOrder::Dmy,
        first: 1,
        lcid: 1061,
        messages: 1061,
        culture: "et-EE",
        months: "jaanuar,veebruar,märts,aprill,mai,juuni,juuli,august,september,oktoober,november,detsember",
        short_months: "jaan,veebr,märts,apr,mai,juuni,juuli,aug,sept,okt,nov,dets",
        days: "esmaspäev,teisipäev,kolmapäev,neljapäev,reede,laupäev,pühapäev",
    },
    Language {
        id: 25,
        name: "latviešu",
        alias: "Latvian",
        order: DateOrder::Ymd,
        first: 1,
        lcid: 1062,
        messages: 1062,
        culture: "lv-LV",
        months: "janvāris,februāris,marts,aprīlis,maijs,jūnijs,jūlijs,augusts,septembris,oktobris,novembris,decembris",
        short_months: "jan,feb,mar,apr,mai,jūn,jūl,aug,sep,okt,nov,dec",
        days: "pirmdiena,otrdiena,trešdiena,ceturtdiena,piektdiena,sestdiena,svētdiena",
    },
    Language {
        id: 26,
        name: "lietuvių",
        alias: "Lithuanian",
        order: DateOrder::Ymd,
        first: 1,
        lcid: 1063,
        messages: 1063,
        culture: "lt-LT",
        months: "sausis,vasaris,kovas,balandis,gegužė,birželis,liepa,rugpjūtis,rugsėjis,spalis,lapkritis,gruodis",
        short_months: "sau,vas,kov,bal,geg,bir,lie,rgp,rgs,spl,lap,grd",
        days: "pirmadienis,antradienis,trečiadienis,ketvirtadienis,penktadienis,šeštadienis,sekmadienis",
    },
    Language {
        id: 27,
        name: "Português (Brasil)",
        alias: "Brazilian",
        order: DateOrder::Dmy,
        first: 7,
        lcid: 1046,
        messages: 1046,
        culture: "pt-BR",
        months: "Janeiro,Fevereiro,Março,Abril,Maio,Junho,Julho,Agosto,Setembro,Outubro,Novembro,Dezembro",
        short_months: "Jan,Fev,Mar,Abr,Mai,Jun,Jul,Ago,Set,Out,Nov,Dez",
        days: "Segunda-Feira,Terça-Feira,Quarta-Feira,Quinta-Feira,Sexta-Feira,Sábado,Domingo",
    },
    Language {
        id: 28,
        name: "繁體中文",
        alias: "Traditional Chinese",
        order: DateOrder::Ymd,
        first: 7,
        lcid: 1028,
        messages: 1028,
        culture: "zh-TW",
        months: "一月,二月,三月,四月,五月,六月,七月,八月,九月,十月,十一月,十二月",
        short_months: "01,02,03,04,05,06,07,08,09,10,11,12",
        days: "星期一,星期二,星期三,星期四,星期五,星期六,星期日",
    },
    Language {
        id: 29,
        name: "한국어",
        alias: "Korean",
        order: DateOrder::Ymd,
        first: 7,
        lcid: 1042,
        messages: 1042,
        culture: "ko-KR",
        months: "01,02,03,04,05,06,07,08,09,10,11,12",
        short_months: "01,02,03,04,05,06,07,08,09,10,11,12",
        days: "월요일,화요일,수요일,목요일,금요일,토요일,일요일",
    },
    Language {
        id: 30,
        name: "简体中文",
        alias: "Simplified Chinese",
        order: DateOrder::Ymd,
        first: 7,
        lcid: 2052,
        messages: 2052,
        culture: "zh-CN",
        months: "01,02,03,04,05,06,07,08,09,10,11,12",
        short_months: "01,02,03,04,05,06,07,08,09,10,11,12",
        days: "星期一,星期二,星期三,星期四,星期五,星期六,星期日",
    },
    Language {
        id: 31,
        name: "Arabic",
        alias: "Arabic",
        order: DateOrder::Dmy,
        first: 1,
        lcid: 1025,
        messages: 1025,
        culture: "ar-SA",
        months: "Muharram,Safar,Rabie I,Rabie II,Jumada I,Jumada II,Rajab,Shaaban,Ramadan,Shawwal,Thou Alqadah,Thou Alhajja",
        short_months: "Jan,Feb,Mar,Apr,May,Jun,Jul,Aug,Sep,Oct,Nov,Dec",
        days: "Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday",
    },
    Language {
        id: 32,
        name: "ไทย",
        alias: "Thai",
        order: DateOrder::Dmy,
        first: 7,
        lcid: 1054,
        messages: 1054,
        culture: "th-TH",
        months: "มกราคม,กุมภาพันธ์,มีนาคม,เมษายน,พฤษภาคม,มิถุนายน,กรกฎาคม,สิงหาคม,กันยายน,ตุลาคม,พฤศจิกายน,ธันวาคม",
        short_months: "ม.ค.,ก.พ.,มี.ค.,เม.ย.,พ.ค.,มิ.ย.,ก.ค.,ส.ค.,ก.ย.,ต.ค.,พ.ย.,ธ.ค.",
        days: "จันทร์,อังคาร,พุธ,พฤหัสบดี,ศุกร์,เสาร์,อาทิตย์",
    },
    Language {
        id: 33,
        name: "norsk (bokmål)",
        alias: "Bokmål",
        order: DateOrder::Dmy,
        first: 1,
        lcid: 1044,
        messages: 1044,
        culture: "nb-NO",
        months: "januar,februar,mars,april,mai,juni,juli,august,september,oktober,november,desember",
        short_months: "jan,feb,mar,apr,mai,jun,jul,aug,sep,okt,nov,des",
        days: "mandag,tirsdag,onsdag,torsdag,fredag,lørdag,søndag",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_twelve_months_and_seven_days_at_the_place_of_its_number() {
        for (at, language) in LANGUAGES.iter().enumerate() {
            assert_eq!(usize::try_from(language.id), Ok(at));
            for (names, count) in [(language.months, 12), (language.short_months, 12), (language.days, 7)] {
                assert_eq!(names.split(',').filter(|n| !n.is_empty()).count(), count, "{}", language.name);
            }
            assert_eq!(Language::find(&language.name.to_uppercase()), Some(language));
            assert_eq!(Language::find(language.alias), Some(language));
        }
        assert_eq!(Language::find("Klingon"), None);
        let polish = Language::find("Polish").unwrap();
        assert_eq!((polish.month(9), polish.short_month(9), polish.day(6)), ("wrzesień", "IX", "niedziela"));
        assert_eq!((polish.month_named("WRZESIEŃ"), polish.month_named("ix")), (Some(9), Some(9)));
        assert_eq!(polish.month_named("september"), None);
        assert_eq!(Language::us_english().month_named("Sept"), Some(9));
    }
}
