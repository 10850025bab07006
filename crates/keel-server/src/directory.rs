//! The directory of a domain, asked by LDAP (RFC 4511, by `ldap3`): accounts and groups of Active Directory or what serves its schema
//! ([MS-ADTS]), as Samba does.
//!
//! A domain's short name (NetBIOS) leads to its part of the tree by the forest's partitions (6.1.1.2.1), so that a server that holds all of
//! the forest's names (a global catalog, port 3268 or 3269) answers for each of its domains. Nothing is kept between two questions: logins
//! are made seldom, and clients bring their groups with them. The password goes over TLS only.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use keel_sql::windows::{Directory, Listed, Unanswered};
use ldap3::adapters::{Adapter, EntriesOnly, PagedResults};
use ldap3::{LdapConn, LdapConnSettings, Scope, SearchEntry, ldap_escape};

use crate::config::Config;
use crate::mail::in_full;

/// For a connection and for each answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Entries of an answer; a directory gives 1,000 at once.
const PAGE: i32 = 500;
/// Accounts, and the groups that count for permissions (2.2.12 `GROUP_TYPE_SECURITY_ENABLED`).
const PRINCIPALS: &str = "(|(objectClass=user)(groupType:1.2.840.113556.1.4.803:=2147483648))";
const ATTRIBUTES: [&str; 3] = ["sAMAccountName", "objectSid", "objectClass"];

/// See the module.
#[derive(Debug)]
pub struct ActiveDirectory {
    /// `ldaps://HOST` or `ldap://HOST`, in the order in which they are asked.
    servers: Vec<String>,
    user: String,
    /// Read for each question: it may be changed while the server runs.
    password: PathBuf,
    /// Certificates that are trusted besides the system's.
    authorities: PathBuf,
}

/// A domain, as a connection to its directory knows it.
struct Domain {
    ldap: LdapConn,
    /// Distinguished name of its part of the tree.
    root: String,
    /// Short name, as it is written there.
    name: String,
}

impl ActiveDirectory {
    /// As configured; `None` without servers.
    ///
    /// # Errors
    /// When an address is none, or nobody is said for it to be.
    pub fn new(config: &Config, authorities: PathBuf) -> Result<Option<ActiveDirectory>> {
        if config.ldap_servers.is_empty() {
            return Ok(None);
        }
        for server in &config.ldap_servers {
            let host = server.strip_prefix("ldaps://").or_else(|| server.strip_prefix("ldap://"));
            ensure!(
                host.is_some_and(|host| !host.is_empty()),
                "a server of a directory is ldaps://HOST[:PORT] or ldap://HOST[:PORT], not {server}"
            );
        }
        ensure!(!config.ldap_user.is_empty(), "ldap_servers need an ldap_user");
        let password =
            config.ldap_password_file.clone().context("ldap_servers need an ldap_password_file")?;
        read_password(&password)?;
        let (servers, user) = (config.ldap_servers.clone(), config.ldap_user.clone());
        Ok(Some(ActiveDirectory { servers, user, password, authorities }))
    }

    /// A connection to the first server that answers.
    fn connect(&self) -> Result<LdapConn> {
        let password = read_password(&self.password)?;
        let tls = self.tls()?;
        let mut failed = Vec::new();
        for server in &self.servers {
            match self.connect_to(server, &password, Arc::clone(&tls)) {
                Ok(ldap) => return Ok(ldap),
                Err(e) => failed.push(format!("{server}: {}", in_full(e.as_ref()))),
            }
        }
        bail!("{}", failed.join("; "))
    }

    fn connect_to(&self, server: &str, password: &str, tls: Arc<rustls::ClientConfig>) -> Result<LdapConn> {
        let settings = LdapConnSettings::new()
            .set_conn_timeout(PATIENCE)
            .set_config(tls)
            .set_starttls(server.starts_with("ldap://"));
        let mut ldap = LdapConn::with_settings(settings, server)?;
        ldap.with_timeout(PATIENCE).simple_bind(&self.user, password)?.success()?;
        Ok(ldap)
    }

    fn tls(&self) -> Result<Arc<rustls::ClientConfig>> {
        let mut roots = rustls::RootCertStore::empty();
        let trusted = keel_objects::trust::certificates(Some(&self.authorities));
        for certificate in trusted.with_context(|| self.authorities.display().to_string())? {
            // Bundles hold certificates that the library does not take; the others still count.
            let _ = roots.add(certificate);
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Arc::new(config))
    }

    /// The domain of that short name, if it is one of this directory's.
    fn domain(&self, name: &str) -> Result<Option<Domain>> {
        let mut ldap = self.connect()?;
        let about = ldap.with_timeout(PATIENCE).search(
            "",
            Scope::Base,
            "(objectClass=*)",
            ["configurationNamingContext"],
        )?;
        let (about, _) = about.success()?;
        let about = about.into_iter().next().map(SearchEntry::construct);
        let configuration = about.as_ref().and_then(|entry| text(entry, "configurationNamingContext"));
        let configuration = configuration.ok_or_else(|| anyhow!("it is no Active Directory"))?;
        let filter = format!("(&(objectClass=crossRef)(nETBIOSName={}))", ldap_escape(name));
        let (found, _) = ldap
            .with_timeout(PATIENCE)
            .search(
                &format!("CN=Partitions,{configuration}"),
                Scope::OneLevel,
                &filter,
                ["nCName", "nETBIOSName"],
            )?
            .success()?;
        let Some(found) = found.into_iter().next().map(SearchEntry::construct) else { return Ok(None) };
        let (root, name) = (text(&found, "nCName"), text(&found, "nETBIOSName"));
        let (root, name) = root.zip(name).ok_or_else(|| anyhow!("it hides the names of its domains"))?;
        Ok(Some(Domain { ldap, root: root.to_owned(), name: name.to_owned() }))
    }
}

impl Domain {
    /// Entries of the domain that fit, whole pages of them.
    fn search(&mut self, filter: &str) -> Result<Vec<SearchEntry>> {
        let pages: Vec<Box<dyn Adapter<'_, &str, [&str; 3]>>> =
            vec![Box::new(EntriesOnly::new()), Box::new(PagedResults::new(PAGE))];
        let mut entries = Vec::new();
        let mut found = self.ldap.with_timeout(PATIENCE).streaming_search_with(
            pages,
            &self.root,
            Scope::Subtree,
            filter,
            ATTRIBUTES,
        )?;
        while let Some(entry) = found.next()? {
            entries.push(SearchEntry::construct(entry));
        }
        found.result().success()?;
        Ok(entries)
    }

    fn entry(&mut self, name: &str) -> Result<Option<SearchEntry>> {
        let filter = format!("(&(sAMAccountName={}){PRINCIPALS})", ldap_escape(name));
        Ok(self.search(&filter)?.into_iter().next())
    }

    fn listed(&self, entry: &SearchEntry) -> Option<Listed> {
        let sid = bytes(entry, "objectSid").into_iter().next()?;
        let class = entry.attrs.get("objectClass").map(Vec::as_slice).unwrap_or_default();
        let name = format!("{}\\{}", self.name, text(entry, "sAMAccountName")?);
        Some(Listed { name, sid, group: class.iter().any(|class| class.eq_ignore_ascii_case("group")) })
    }
}

impl ActiveDirectory {
    fn try_find(&self, domain: &str, name: &str) -> Result<Option<Listed>> {
        let Some(mut domain) = self.domain(domain)? else { return Ok(None) };
        let entry = domain.entry(name)?;
        Ok(entry.and_then(|entry| domain.listed(&entry)))
    }

    /// What the directory computes for it is what it would put into a ticket (3.1.1.4.5.19).
    fn try_groups_of(&self, domain: &str, name: &str) -> Result<Vec<Vec<u8>>> {
        let Some(mut domain) = self.domain(domain)? else { return Ok(Vec::new()) };
        let Some(entry) = domain.entry(name)? else { return Ok(Vec::new()) };
        let search = domain.ldap.with_timeout(PATIENCE);
        let (found, _) =
            search.search(&entry.dn, Scope::Base, "(objectClass=*)", ["tokenGroups"])?.success()?;
        let entries = found.into_iter().map(SearchEntry::construct);
        Ok(entries.flat_map(|entry| bytes(&entry, "tokenGroups")).collect())
    }

    /// Those that a group lists, and those whose first group it is, which it does not.
    fn try_members(&self, domain: &str, group: &str) -> Result<Vec<Listed>> {
        let Some(mut domain) = self.domain(domain)? else { return Ok(Vec::new()) };
        let Some(entry) = domain.entry(group)? else { return Ok(Vec::new()) };
        let sid = domain.listed(&entry).map(|listed| listed.sid).unwrap_or_default();
        let number = sid.last_chunk().map_or(0, |last| u32::from_le_bytes(*last));
        let dn = ldap_escape(entry.dn.as_str());
        let filter = format!("(&(|(memberOf={dn})(primaryGroupID={number})){PRINCIPALS})");
        let mut members: Vec<Listed> =
            domain.search(&filter)?.iter().filter_map(|entry| domain.listed(entry)).collect();
        members.sort_by_key(|member| member.name.to_uppercase());
        Ok(members)
    }
}

impl Directory for ActiveDirectory {
    fn find(&self, domain: &str, name: &str) -> Result<Option<Listed>, Unanswered> {
        self.try_find(domain, name).map_err(unanswered)
    }

    fn groups_of(&self, domain: &str, name: &str) -> Result<Vec<Vec<u8>>, Unanswered> {
        self.try_groups_of(domain, name).map_err(unanswered)
    }

    fn members(&self, domain: &str, group: &str) -> Result<Vec<Listed>, Unanswered> {
        self.try_members(domain, group).map_err(unanswered)
    }
}

fn unanswered(e: anyhow::Error) -> Unanswered {
    Unanswered(in_full(e.as_ref()))
}

/// The first line of a file.
fn read_password(file: &Path) -> Result<String> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("the directory's password cannot be read from {}", file.display()))?;
    let password = text.lines().next().unwrap_or_default();
    // Without one the directory would take the server for nobody in particular (RFC 4513, 5.1.2), and show it nothing.
    ensure!(!password.is_empty(), "the directory's password in {} is empty", file.display());
    Ok(password.to_owned())
}

/// An attribute's only value; names of attributes come back in the directory's own case.
fn text<'a>(entry: &'a SearchEntry, attribute: &str) -> Option<&'a str> {
    let named = entry.attrs.iter().find(|(name, _)| name.eq_ignore_ascii_case(attribute));
    named.and_then(|(_, values)| values.first()).map(String::as_str)
}

/// All values of an attribute. The library takes those that happen to be UTF-8 for texts.
fn bytes(entry: &SearchEntry, attribute: &str) -> HashSet<Vec<u8>> {
    let texts = entry.attrs.iter().filter(|(name, _)| name.eq_ignore_ascii_case(attribute));
    let texts = texts.flat_map(|(_, values)| values.iter().map(|value| value.as_bytes().to_vec()));
    let others = entry.bin_attrs.iter().filter(|(name, _)| name.eq_ignore_ascii_case(attribute));
    texts.chain(others.flat_map(|(_, values)| values.iter().cloned())).collect()
}
