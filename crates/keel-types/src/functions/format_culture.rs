//! The cultures `FORMAT` and `PARSE` know, as .NET Framework has them. A culture that is not here raises 9818.

use crate::datetime::language::Language;
use crate::error::{Result, SqlError};
use std::sync::LazyLock;

/// What differs from culture to culture.
pub(super) struct Culture {
    pub(super) name: &'static str,
    pub(super) point: &'static str,
    pub(super) group: &'static str,
    /// Digits of each group but the last, which has three.
    further_group: usize,
    /// `{}` stands for the number.
    pub(super) currency: &'static str,
    pub(super) negative_currency: &'static str,
    pub(super) percent: &'static str,
    pub(super) short_date: &'static str,
    pub(super) long_date: &'static str,
    pub(super) short_time: &'static str,
    pub(super) long_time: &'static str,
    pub(super) month_day: &'static str,
    pub(super) year_month: &'static str,
    /// The designators of the halves of a day.
    pub(super) halves: [&'static str; 2],
    /// Years its calendar is ahead of ours.
    pub(super) years_ahead: i32,
    pub(super) names: Names,
}

/// What a culture calls months and days (Monday first).
#[derive(Clone)]
pub(super) struct Names {
    pub(super) months: Vec<&'static str>,
    /// Months as they are called beside the number of a day.
    pub(super) months_of_days: Vec<&'static str>,
    pub(super) short_months: Vec<&'static str>,
    pub(super) days: Vec<&'static str>,
    pub(super) short_days: Vec<&'static str>,
}

impl Culture {
    /// One line of [`CULTURES`].
    fn of_line(line: &'static str) -> Option<Culture> {
        let fields: Vec<&'static str> = line.split('|').collect();
        let [name, names, point, group, currency, negative_currency, percent, ref rest @ ..] = fields[..]
        else {
            return None;
        };
        let [short_date, long_date, short_time, long_time, month_day, year_month, am, pm] = *rest else {
            return None;
        };
        Some(Culture {
            name,
            point,
            group,
            further_group: if name == "en-IN" { 2 } else { 3 },
            currency,
            negative_currency,
            percent,
            short_date,
            long_date,
            short_time,
            long_time,
            month_day,
            year_month,
            halves: [am, pm],
            years_ahead: if name == "th-TH" { 543 } else { 0 },
            names: Names::called(names)?,
        })
    }

    /// Whether a separator follows the digit that has so many whole digits behind it.
    pub(super) fn ends_group(&self, behind: usize) -> bool {
        behind >= 3 && (behind - 3).is_multiple_of(self.further_group)
    }

    /// What stands for `/` in a pattern.
    pub(super) fn date_separator(&self) -> &'static str {
        separator(self.short_date)
    }

    /// What stands for `:` in a pattern.
    pub(super) fn time_separator(&self) -> &'static str {
        separator(self.long_time.trim_start_matches("tt "))
    }
}

/// What stands between the first two parts of a pattern.
fn separator(pattern: &'static str) -> &'static str {
    let rest = pattern.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    &rest[..rest.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(rest.len())]
}

impl Names {
    fn called(language: &str) -> Option<Names> {
        let mut fields = NAMES.lines().find(|l| l.split('|').next() == Some(language))?.split('|').skip(1);
        let mut list = || fields.next().map(|names| names.split(',').collect::<Vec<_>>());
        let (months, genitives) = (list()?, list()?);
        let months_of_days = if genitives.len() == 12 { genitives } else { months.clone() };
        Some(Names { months, months_of_days, short_months: list()?, days: list()?, short_days: list()? })
    }
}

static ALL: LazyLock<Vec<Culture>> =
    LazyLock::new(|| CULTURES.lines().filter_map(Culture::of_line).collect());

/// The culture of what is written the same everywhere.
pub(super) fn invariant() -> &'static Culture {
    &ALL[0]
}

/// Finds a culture by name, or the first one of a language; error 9818.
pub(super) fn culture(name: &str) -> Result<&'static Culture> {
    let asked = match name.trim() {
        "" | "iv" => "en-US",
        asked if asked.eq_ignore_ascii_case("zh-hant") => "zh-TW",
        asked if asked.eq_ignore_ascii_case("zh-hans") => "zh-CN",
        asked if asked.eq_ignore_ascii_case("no") => "nb",
        asked => asked,
    };
    let named = ALL.iter().find(|c| c.name.eq_ignore_ascii_case(asked));
    let spoken =
        || ALL.iter().find(|c| c.name.split('-').next().is_some_and(|l| l.eq_ignore_ascii_case(asked)));
    named.or_else(spoken).ok_or_else(|| {
        let text = format!("The culture parameter '{name}' provided in the function call is not supported.");
        SqlError::new(9818, 16, 1, text)
    })
}

/// The culture asked for, or that of the session's language.
pub(super) fn culture_or(
    name: Option<&str>,
    language: impl FnOnce() -> &'static Language,
) -> Result<&'static Culture> {
    name.map_or_else(|| culture(language().culture), culture)
}

/// Name, names of, point, group separator, currency, negative currency, percent, short date, long date, short time, long time,
/// month and day, year and month, designators of morning and afternoon. The first of a language stands for all of it.
static CULTURES: &str = "\
en-US|en|.|,|${}|(${})|{}%|M/d/yyyy|dddd, MMMM d, yyyy|h:mm tt|h:mm:ss tt|MMMM d|MMMM yyyy|AM|PM
en-GB|en|.|,|£{}|-£{}|{}%|dd/MM/yyyy|dd MMMM yyyy|HH:mm|HH:mm:ss|d MMMM|MMMM yyyy|AM|PM
en-CA|en|.|,|${}|-${}|{}%|yyyy-MM-dd|MMMM d, yyyy|h:mm tt|h:mm:ss tt|MMMM d|MMMM yyyy|AM|PM
en-AU|en|.|,|${}|-${}|{}%|d/MM/yyyy|dddd, d MMMM yyyy|h:mm tt|h:mm:ss tt|d MMMM|MMMM yyyy|AM|PM
en-NZ|en|.|,|${}|-${}|{}%|d/MM/yyyy|dddd, d MMMM yyyy|h:mm tt|h:mm:ss tt|d MMMM|MMMM yyyy|AM|PM
en-IE|en|.|,|€{}|-€{}|{}%|dd/MM/yyyy|dddd d MMMM yyyy|HH:mm|HH:mm:ss|d MMMM|MMMM yyyy|AM|PM
en-ZA|en|,|\u{A0}|R{}|-R{}|{}%|yyyy/MM/dd|dd MMMM yyyy|HH:mm|HH:mm:ss|d MMMM|MMMM yyyy|AM|PM
en-IN|en|.|,|₹{}|-₹{}|{}%|dd-MM-yyyy|dd MMMM yyyy|HH:mm|HH:mm:ss|d MMMM|MMMM yyyy|AM|PM
de-DE|de|,|.|{} €|-{} €|{} %|dd.MM.yyyy|dddd, d. MMMM yyyy|HH:mm|HH:mm:ss|d. MMMM|MMMM yyyy||
de-AT|de-AT|,|\u{A0}|€ {}|-€ {}|{} %|dd.MM.yyyy|dddd, d. MMMM yyyy|HH:mm|HH:mm:ss|d. MMMM|MMMM yyyy||
de-CH|de|.|’|CHF {}|CHF-{}|{}%|dd.MM.yyyy|dddd, d. MMMM yyyy|HH:mm|HH:mm:ss|d. MMMM|MMMM yyyy||
fr-FR|fr|,|\u{A0}|{} €|-{} €|{} %|dd/MM/yyyy|dddd d MMMM yyyy|HH:mm|HH:mm:ss|d MMMM|MMMM yyyy||
fr-CA|fr|,|\u{A0}|{} $|({} $)|{} %|yyyy-MM-dd|d MMMM yyyy|HH:mm|HH:mm:ss|d MMMM|MMMM yyyy||
fr-BE|fr|,|\u{A0}|{} €|-{} €|{} %|dd-MM-yy|dddd d MMMM yyyy|HH:mm|HH:mm:ss|d MMMM|MMMM yyyy||
fr-CH|fr|,|\u{A0}|{} CHF|-{} CHF|{}%|dd.MM.yyyy|dddd, d MMMM yyyy|HH:mm|HH:mm:ss|d MMMM|MMMM yyyy||
es-ES|es|,|.|{} €|-{} €|{} %|dd/MM/yyyy|dddd, d 'de' MMMM 'de' yyyy|H:mm|H:mm:ss|d 'de' MMMM|MMMM 'de' yyyy||
es-MX|es-MX|.|,|${}|-${}|{}%|dd/MM/yyyy|dddd, d 'de' MMMM 'de' yyyy|hh:mm tt|hh:mm:ss tt|d 'de' MMMM|MMMM 'de' yyyy|a. m.|p. m.
it-IT|it|,|.|{} €|-{} €|{}%|dd/MM/yyyy|dddd d MMMM yyyy|HH:mm|HH:mm:ss|d MMMM|MMMM yyyy||
nl-NL|nl|,|.|€ {}|€ -{}|{}%|d-M-yyyy|dddd d MMMM yyyy|HH:mm|HH:mm:ss|d MMMM|MMMM yyyy||
nl-BE|nl|,|.|€ {}|€ -{}|{}%|d/MM/yyyy|dddd d MMMM yyyy|H:mm|H:mm:ss|d MMMM|MMMM yyyy||
pt-BR|pt|,|.|R$ {}|-R$ {}|{}%|dd/MM/yyyy|dddd, d 'de' MMMM 'de' yyyy|HH:mm|HH:mm:ss|d 'de' MMMM|MMMM 'de' yyyy||
pt-PT|pt|,|\u{A0}|{} €|-{} €|{}%|dd/MM/yyyy|d 'de' MMMM 'de' yyyy|HH:mm|HH:mm:ss|d 'de' MMMM|MMMM 'de' yyyy||
sv-SE|sv|,|\u{A0}|{} kr|-{} kr|{} %|yyyy-MM-dd|'den 'd MMMM yyyy|HH:mm|HH:mm:ss|'den 'd MMMM|MMMM yyyy||
da-DK|da|,|.|{} kr.|-{} kr.|{} %|dd-MM-yyyy|d. MMMM yyyy|HH:mm|HH:mm:ss|d. MMMM|MMMM yyyy||
nb-NO|nb|,|\u{A0}|kr {}|kr -{}|{} %|dd.MM.yyyy|dddd d. MMMM yyyy|HH:mm|HH:mm:ss|d. MMMM|MMMM yyyy||
nn-NO|nn|,|\u{A0}|kr {}|kr -{}|{} %|dd.MM.yyyy|dddd d. MMMM yyyy|HH:mm|HH:mm:ss|d. MMMM|MMMM yyyy||
fi-FI|fi|,|\u{A0}|{} €|-{} €|{} %|d.M.yyyy|dddd d. MMMM yyyy|H.mm|H.mm.ss|d. MMMM|MMMM yyyy||
pl-PL|pl|,|\u{A0}|{} zł|-{} zł|{}%|dd.MM.yyyy|d MMMM yyyy|HH:mm|HH:mm:ss|d MMMM|MMMM yyyy||
cs-CZ|cs|,|\u{A0}|{} Kč|-{} Kč|{} %|dd.MM.yyyy|dddd d. MMMM yyyy|H:mm|H:mm:ss|d. MMMM|MMMM yyyy|dop.|odp.
sk-SK|sk|,|\u{A0}|{} €|-{} €|{} %|d.M.yyyy|dddd d. MMMM yyyy|H:mm|H:mm:ss|d. MMMM|MMMM yyyy|AM|PM
hu-HU|hu|,|\u{A0}|{} Ft|-{} Ft|{}%|yyyy. MM. dd.|yyyy. MMMM d., dddd|H:mm|H:mm:ss|MMMM d.|yyyy. MMMM|de.|du.
ro-RO|ro|,|.|{} RON|-{} RON|{} %|dd.MM.yyyy|dddd, d MMMM yyyy|HH:mm|HH:mm:ss|d MMMM|MMMM yyyy|a.m.|p.m.
ru-RU|ru|,|\u{A0}|{} ₽|-{} ₽|{}%|dd.MM.yyyy|d MMMM yyyy 'г.'|H:mm|H:mm:ss|d MMMM|MMMM yyyy||
uk-UA|uk|,|\u{A0}|{}₴|-{}₴|{}%|dd.MM.yyyy|d MMMM yyyy' р.'|H:mm|H:mm:ss|d MMMM|MMMM yyyy' р.'||
tr-TR|tr|,|.|₺{}|-₺{}|%{}|d.MM.yyyy|d MMMM yyyy dddd|HH:mm|HH:mm:ss|d MMMM|MMMM yyyy|ÖÖ|ÖS
el-GR|el|,|.|{} €|-{} €|{}%|d/M/yyyy|dddd, d MMMM yyyy|h:mm tt|h:mm:ss tt|d MMMM|MMMM yyyy|πμ|μμ
bg-BG|bg|,|\u{A0}|{} лв.|-{} лв.|{}%|d.M.yyyy 'г.'|dd MMMM yyyy 'г.'|H:mm|H:mm:ss|dd MMMM|MMMM yyyy 'г.'||
hr-HR|hr|,|.|{} kn|-{} kn|{}%|d.M.yyyy.|d. MMMM yyyy.|H:mm|H:mm:ss|d. MMMM|MMMM yyyy.||
sl-SI|sl|,|.|{} €|-{} €|{} %|d. MM. yyyy|dddd, dd. MMMM yyyy|HH:mm|HH:mm:ss|d. MMMM|MMMM yyyy|dop.|pop.
et-EE|et|,|\u{A0}|{} €|-{} €|{}%|dd.MM.yyyy|dddd, d. MMMM yyyy|HH:mm|HH:mm:ss|d. MMMM|MMMM yyyy||
lv-LV|lv|,|\u{A0}|{} €|-{} €|{}%|dd.MM.yyyy|dddd, yyyy. 'gada' d. MMMM|HH:mm|HH:mm:ss|d. MMMM|yyyy. MMMM|priekšp.|pēcp.
lt-LT|lt|,|\u{A0}|{} €|-{} €|{} %|yyyy-MM-dd|yyyy 'm'. MMMM d 'd'.|HH:mm|HH:mm:ss|MMMM d 'd'.|yyyy 'm'. MMMM|priešpiet|popiet
zh-CN|zh-CN|.|,|¥{}|¥-{}|{}%|yyyy/M/d|yyyy'年'M'月'd'日'|H:mm|H:mm:ss|M'月'd'日'|yyyy'年'M'月'|上午|下午
zh-TW|zh-TW|.|,|NT${}|-NT${}|{}%|yyyy/M/d|yyyy'年'M'月'd'日'|tt hh:mm|tt hh:mm:ss|M'月'd'日'|yyyy'年'M'月'|上午|下午
ja-JP|ja|.|,|¥{}|-¥{}|{}%|yyyy/MM/dd|yyyy'年'M'月'd'日'|H:mm|H:mm:ss|M'月'd'日'|yyyy'年'M'月'|午前|午後
ko-KR|ko|.|,|₩{}|-₩{}|{}%|yyyy-MM-dd|yyyy'년' M'월' d'일' dddd|tt h:mm|tt h:mm:ss|M'월' d'일'|yyyy'년' M'월'|오전|오후
th-TH|th|.|,|฿{}|-฿{}|{}%|d/M/yyyy|d MMMM yyyy|H:mm|H:mm:ss|d MMMM|MMMM yyyy|AM|PM
vi-VN|vi|,|.|{} ₫|-{} ₫|{}%|dd/MM/yyyy|dd MMMM yyyy|h:mm tt|h:mm:ss tt|dd MMMM|MMMM yyyy|SA|CH
id-ID|id|,|.|Rp{}|-Rp{}|{}%|dd/MM/yyyy|dd MMMM yyyy|HH.mm|HH.mm.ss|d MMMM|MMMM yyyy|AM|PM
ar-SA|ar|.|,|ر.س.\u{200F} {}|ر.س.\u{200F}-{}|{} %|dd/MM/yy|dd/MMMM/yyyy|hh:mm tt|hh:mm:ss tt|dd MMMM|MMMM, yyyy|ص|م
he-IL|he|.|,|{} ₪|-{} ₪|{}%|dd/MM/yyyy|dddd d MMMM yyyy|HH:mm|HH:mm:ss|d MMMM|MMMM yyyy|AM|PM";

/// Months, months beside the number of a day (where they differ), short months, days, short days.
static NAMES: &str = "\
en|January,February,March,April,May,June,July,August,September,October,November,December||Jan,Feb,Mar,Apr,May,Jun,Jul,Aug,Sep,Oct,Nov,Dec|Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday|Mon,Tue,Wed,Thu,Fri,Sat,Sun
de|Januar,Februar,März,April,Mai,Juni,Juli,August,September,Oktober,November,Dezember||Jan,Feb,Mrz,Apr,Mai,Jun,Jul,Aug,Sep,Okt,Nov,Dez|Montag,Dienstag,Mittwoch,Donnerstag,Freitag,Samstag,Sonntag|Mo,Di,Mi,Do,Fr,Sa,So
de-AT|Jänner,Februar,März,April,Mai,Juni,Juli,August,September,Oktober,November,Dezember||Jän,Feb,Mär,Apr,Mai,Jun,Jul,Aug,Sep,Okt,Nov,Dez|Montag,Dienstag,Mittwoch,Donnerstag,Freitag,Samstag,Sonntag|Mo,Di,Mi,Do,Fr,Sa,So
fr|janvier,février,mars,avril,mai,juin,juillet,août,septembre,octobre,novembre,décembre||janv.,févr.,mars,avr.,mai,juin,juil.,août,sept.,oct.,nov.,déc.|lundi,mardi,mercredi,jeudi,vendredi,samedi,dimanche|lun.,mar.,mer.,jeu.,ven.,sam.,dim.
es|enero,febrero,marzo,abril,mayo,junio,julio,agosto,septiembre,octubre,noviembre,diciembre||ene.,feb.,mar.,abr.,may.,jun.,jul.,ago.,sep.,oct.,nov.,dic.|lunes,martes,miércoles,jueves,viernes,sábado,domingo|lu.,ma.,mi.,ju.,vi.,sá.,do.
es-MX|enero,febrero,marzo,abril,mayo,junio,julio,agosto,septiembre,octubre,noviembre,diciembre||ene.,feb.,mar.,abr.,may.,jun.,jul.,ago.,sep.,oct.,nov.,dic.|lunes,martes,miércoles,jueves,viernes,sábado,domingo|lun.,mar.,mié.,jue.,vie.,sáb.,dom.
it|gennaio,febbraio,marzo,aprile,maggio,giugno,luglio,agosto,settembre,ottobre,novembre,dicembre||gen,feb,mar,apr,mag,giu,lug,ago,set,ott,nov,dic|lunedì,martedì,mercoledì,giovedì,venerdì,sabato,domenica|lun,mar,mer,gio,ven,sab,dom
nl|januari,februari,maart,april,mei,juni,juli,augustus,september,oktober,november,december||jan,feb,mrt,apr,mei,jun,jul,aug,sep,okt,nov,dec|maandag,dinsdag,woensdag,donderdag,vrijdag,zaterdag,zondag|ma,di,wo,do,vr,za,zo
pt|janeiro,fevereiro,março,abril,maio,junho,julho,agosto,setembro,outubro,novembro,dezembro||jan,fev,mar,abr,mai,jun,jul,ago,set,out,nov,dez|segunda-feira,terça-feira,quarta-feira,quinta-feira,sexta-feira,sábado,domingo|seg,ter,qua,qui,sex,sáb,dom
sv|januari,februari,mars,april,maj,juni,juli,augusti,september,oktober,november,december||jan,feb,mar,apr,maj,jun,jul,aug,sep,okt,nov,dec|måndag,tisdag,onsdag,torsdag,fredag,lördag,söndag|mån,tis,ons,tor,fre,lör,sön
da|januar,februar,marts,april,maj,juni,juli,august,september,oktober,november,december||jan,feb,mar,apr,maj,jun,jul,aug,sep,okt,nov,dec|mandag,tirsdag,onsdag,torsdag,fredag,lørdag,søndag|ma,ti,on,to,fr,lø,sø
nb|januar,februar,mars,april,mai,juni,juli,august,september,oktober,november,desember||jan.,feb.,mar.,apr.,mai,jun.,jul.,aug.,sep.,okt.,nov.,des.|mandag,tirsdag,onsdag,torsdag,fredag,lørdag,søndag|man.,tir.,ons.,tor.,fre.,lør.,søn.
nn|januar,februar,mars,april,mai,juni,juli,august,september,oktober,november,desember||jan.,feb.,mars,april,mai,juni,juli,aug.,sep.,okt.,nov.,des.|måndag,tysdag,onsdag,torsdag,fredag,laurdag,søndag|mån.,tys.,ons.,tor.,fre.,lau.,søn.
fi|tammikuu,helmikuu,maaliskuu,huhtikuu,toukokuu,kesäkuu,heinäkuu,elokuu,syyskuu,lokakuu,marraskuu,joulukuu|tammikuuta,helmikuuta,maaliskuuta,huhtikuuta,toukokuuta,kesäkuuta,heinäkuuta,elokuuta,syyskuuta,lokakuuta,marraskuuta,joulukuuta|tammi,helmi,maalis,huhti,touko,kesä,heinä,elo,syys,loka,marras,joulu|maanantai,tiistai,keskiviikko,torstai,perjantai,lauantai,sunnuntai|ma,ti,ke,to,pe,la,su
pl|styczeń,luty,marzec,kwiecień,maj,czerwiec,lipiec,sierpień,wrzesień,październik,listopad,grudzień|stycznia,lutego,marca,kwietnia,maja,czerwca,lipca,sierpnia,września,października,listopada,grudnia|sty,lut,mar,kwi,maj,cze,lip,sie,wrz,paź,lis,gru|poniedziałek,wtorek,środa,czwartek,piątek,sobota,niedziela|pon.,wt.,śr.,czw.,pt.,sob.,niedz.
cs|leden,únor,březen,duben,květen,červen,červenec,srpen,září,říjen,listopad,prosinec|ledna,února,března,dubna,května,června,července,srpna,září,října,listopadu,prosince|led,úno,bře,dub,kvě,čvn,čvc,srp,zář,říj,lis,pro|pondělí,úterý,středa,čtvrtek,pátek,sobota,neděle|po,út,st,čt,pá,so,ne
sk|január,február,marec,apríl,máj,jún,júl,august,september,október,november,december|januára,februára,marca,apríla,mája,júna,júla,augusta,septembra,októbra,novembra,decembra|jan,feb,mar,apr,máj,jún,júl,aug,sep,okt,nov,dec|pondelok,utorok,streda,štvrtok,piatok,sobota,nedeľa|po,ut,st,št,pi,so,ne
hu|január,február,március,április,május,június,július,augusztus,szeptember,október,november,december||jan.,febr.,márc.,ápr.,máj.,jún.,júl.,aug.,szept.,okt.,nov.,dec.|hétfő,kedd,szerda,csütörtök,péntek,szombat,vasárnap|H,K,Sze,Cs,P,Szo,V
ro|ianuarie,februarie,martie,aprilie,mai,iunie,iulie,august,septembrie,octombrie,noiembrie,decembrie||ian.,feb.,mar.,apr.,mai,iun.,iul.,aug.,sept.,oct.,nov.,dec.|luni,marți,miercuri,joi,vineri,sâmbătă,duminică|lun.,mar.,mie.,joi,vin.,sâm.,dum.
ru|Январь,Февраль,Март,Апрель,Май,Июнь,Июль,Август,Сентябрь,Октябрь,Ноябрь,Декабрь|января,февраля,марта,апреля,мая,июня,июля,августа,сентября,октября,ноября,декабря|янв,фев,мар,апр,май,июн,июл,авг,сен,окт,ноя,дек|понедельник,вторник,среда,четверг,пятница,суббота,воскресенье|Пн,Вт,Ср,Чт,Пт,Сб,Вс
uk|січень,лютий,березень,квітень,травень,червень,липень,серпень,вересень,жовтень,листопад,грудень|січня,лютого,березня,квітня,травня,червня,липня,серпня,вересня,жовтня,листопада,грудня|січ,лют,бер,кві,тра,чер,лип,сер,вер,жов,лис,гру|понеділок,вівторок,середа,четвер,п'ятниця,субота,неділя|Пн,Вт,Ср,Чт,Пт,Сб,Нд
tr|Ocak,Şubat,Mart,Nisan,Mayıs,Haziran,Temmuz,Ağustos,Eylül,Ekim,Kasım,Aralık||Oca,Şub,Mar,Nis,May,Haz,Tem,Ağu,Eyl,Eki,Kas,Ara|Pazartesi,Salı,Çarşamba,Perşembe,Cuma,Cumartesi,Pazar|Pzt,Sal,Çar,Per,Cum,Cmt,Paz
el|Ιανουάριος,Φεβρουάριος,Μάρτιος,Απρίλιος,Μάιος,Ιούνιος,Ιούλιος,Αύγουστος,Σεπτέμβριος,Οκτώβριος,Νοέμβριος,Δεκέμβριος|Ιανουαρίου,Φεβρουαρίου,Μαρτίου,Απριλίου,Μαΐου,Ιουνίου,Ιουλίου,Αυγούστου,Σεπτεμβρίου,Οκτωβρίου,Νοεμβρίου,Δεκεμβρίου|Ιαν,Φεβ,Μαρ,Απρ,Μαϊ,Ιουν,Ιουλ,Αυγ,Σεπ,Οκτ,Νοε,Δεκ|Δευτέρα,Τρίτη,Τετάρτη,Πέμπτη,Παρασκευή,Σάββατο,Κυριακή|Δευ,Τρι,Τετ,Πεμ,Παρ,Σαβ,Κυρ
bg|януари,февруари,март,април,май,юни,юли,август,септември,октомври,ноември,декември||яну.,фев.,март,апр.,май,юни,юли,авг.,септ.,окт.,ноем.,дек.|понеделник,вторник,сряда,четвъртък,петък,събота,неделя|пн,вт,ср,чт,пт,сб,нд
hr|siječanj,veljača,ožujak,travanj,svibanj,lipanj,srpanj,kolovoz,rujan,listopad,studeni,prosinac|siječnja,veljače,ožujka,travnja,svibnja,lipnja,srpnja,kolovoza,rujna,listopada,studenoga,prosinca|sij,vlj,ožu,tra,svi,lip,srp,kol,ruj,lis,stu,pro|ponedjeljak,utorak,srijeda,četvrtak,petak,subota,nedjelja|pon,uto,sri,čet,pet,sub,ned
sl|januar,februar,marec,april,maj,junij,julij,avgust,september,oktober,november,december||jan.,feb.,mar.,apr.,maj,jun.,jul.,avg.,sep.,okt.,nov.,dec.|ponedeljek,torek,sreda,četrtek,petek,sobota,nedelja|pon.,tor.,sre.,čet.,pet.,sob.,ned.
et|jaanuar,veebruar,märts,aprill,mai,juuni,juuli,august,september,oktoober,november,detsember||jaan,veebr,märts,apr,mai,juuni,juuli,aug,sept,okt,nov,dets|esmaspäev,teisipäev,kolmapäev,neljapäev,reede,laupäev,pühapäev|E,T,K,N,R,L,P
lv|janvāris,februāris,marts,aprīlis,maijs,jūnijs,jūlijs,augusts,septembris,oktobris,novembris,decembris||janv.,febr.,marts,apr.,maijs,jūn.,jūl.,aug.,sept.,okt.,nov.,dec.|pirmdiena,otrdiena,trešdiena,ceturtdiena,piektdiena,sestdiena,svētdiena|P,O,T,C,Pk,S,Sv
lt|sausis,vasaris,kovas,balandis,gegužė,birželis,liepa,rugpjūtis,rugsėjis,spalis,lapkritis,gruodis|sausio,vasario,kovo,balandžio,gegužės,birželio,liepos,rugpjūčio,rugsėjo,spalio,lapkričio,gruodžio|saus.,vas.,kov.,bal.,geg.,birž.,liep.,rugp.,rugs.,spal.,lapkr.,gruod.|pirmadienis,antradienis,trečiadienis,ketvirtadienis,penktadienis,šeštadienis,sekmadienis|pr,an,tr,kt,pn,št,sk
zh-CN|一月,二月,三月,四月,五月,六月,七月,八月,九月,十月,十一月,十二月||1月,2月,3月,4月,5月,6月,7月,8月,9月,10月,11月,12月|星期一,星期二,星期三,星期四,星期五,星期六,星期日|周一,周二,周三,周四,周五,周六,周日
zh-TW|一月,二月,三月,四月,五月,六月,七月,八月,九月,十月,十一月,十二月||一月,二月,三月,四月,五月,六月,七月,八月,九月,十月,十一月,十二月|星期一,星期二,星期三,星期四,星期五,星期六,星期日|週一,週二,週三,週四,週五,週六,週日
ja|1月,2月,3月,4月,5月,6月,7月,8月,9月,10月,11月,12月||1,2,3,4,5,6,7,8,9,10,11,12|月曜日,火曜日,水曜日,木曜日,金曜日,土曜日,日曜日|月,火,水,木,金,土,日
ko|1월,2월,3월,4월,5월,6월,7월,8월,9월,10월,11월,12월||1,2,3,4,5,6,7,8,9,10,11,12|월요일,화요일,수요일,목요일,금요일,토요일,일요일|월,화,수,목,금,토,일
th|มกราคม,กุมภาพันธ์,มีนาคม,เมษายน,พฤษภาคม,มิถุนายน,กรกฎาคม,สิงหาคม,กันยายน,ตุลาคม,พฤศจิกายน,ธันวาคม||ม.ค.,ก.พ.,มี.ค.,เม.ย.,พ.ค.,มิ.ย.,ก.ค.,ส.ค.,ก.ย.,ต.ค.,พ.ย.,ธ.ค.|จันทร์,อังคาร,พุธ,พฤหัสบดี,ศุกร์,เสาร์,อาทิตย์|จ.,อ.,พ.,พฤ.,ศ.,ส.,อา.
vi|Tháng Giêng,Tháng Hai,Tháng Ba,Tháng Tư,Tháng Năm,Tháng Sáu,Tháng Bảy,Tháng Tám,Tháng Chín,Tháng Mười,Tháng Mười Một,Tháng Mười Hai||Thg1,Thg2,Thg3,Thg4,Thg5,Thg6,Thg7,Thg8,Thg9,Thg10,Thg11,Thg12|Thứ Hai,Thứ Ba,Thứ Tư,Thứ Năm,Thứ Sáu,Thứ Bảy,Chủ Nhật|T2,T3,T4,T5,T6,T7,CN
id|Januari,Februari,Maret,April,Mei,Juni,Juli,Agustus,September,Oktober,November,Desember||Jan,Feb,Mar,Apr,Mei,Jun,Jul,Agu,Sep,Okt,Nov,Des|Senin,Selasa,Rabu,Kamis,Jumat,Sabtu,Minggu|Sen,Sel,Rab,Kam,Jum,Sab,Min
ar|يناير,فبراير,مارس,أبريل,مايو,يونيو,يوليو,أغسطس,سبتمبر,أكتوبر,نوفمبر,ديسمبر||يناير,فبراير,مارس,أبريل,مايو,يونيو,يوليو,أغسطس,سبتمبر,أكتوبر,نوفمبر,ديسمبر|الإثنين,الثلاثاء,الأربعاء,الخميس,الجمعة,السبت,الأحد|الإثنين,الثلاثاء,الأربعاء,الخميس,الجمعة,السبت,الأحد
he|ינואר,פברואר,מרץ,אפריל,מאי,יוני,יולי,אוגוסט,ספטמבר,אוקטובר,נובמבר,דצמבר||ינו,פבר,מרץ,אפר,מאי,יונ,יול,אוג,ספט,אוק,נוב,דצמ|יום שני,יום שלישי,יום רביעי,יום חמישי,יום שישי,שבת,יום ראשון|יום ב,יום ג,יום ד,יום ה,יום ו,שבת,יום א";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datetime::language::LANGUAGES;

    #[test]
    fn every_line_is_whole() {
        for line in CULTURES.lines() {
            let c = Culture::of_line(line).unwrap_or_else(|| panic!("{line}"));
            let n = &c.names;
            for (names, count) in [
                (&n.months, 12),
                (&n.months_of_days, 12),
                (&n.short_months, 12),
                (&n.days, 7),
                (&n.short_days, 7),
            ] {
                assert_eq!(names.iter().filter(|n| !n.is_empty()).count(), count, "{}", c.name);
            }
            assert!(!c.date_separator().is_empty() && !c.time_separator().is_empty(), "{}", c.name);
        }
        assert!(LANGUAGES.iter().all(|l| culture(l.culture).is_ok_and(|c| c.name == l.culture)));
        assert_eq!(culture("PT").unwrap().name, "pt-BR");
    }
}
