//! Signed modules: ADD and DROP SIGNATURE, and who stands behind a module that runs.
//!
//! ```text
//! GRANT … TO user ──mapped to──► certificate ──signs──► procedure        EXEC by anybody:
//!                                                                        the caller's rights and the user's, in there only
//! ```
//!
//! What is signed is the module's text; a module that is altered has no signatures any more. A signature is looked at whenever a module is
//! compiled: one that is not of this text, of a database that somebody wrote to from outside, gives nothing.
//!
//! Whoever signed a module stands behind it, its dynamic SQL and the procedures of the system that it calls. Behind a module that it calls stand
//! that one's signers, and of the caller's those who have countersigned it.

use super::principal::Mapped;
use super::{errors, key_thumbprint, rsa};
use crate::catalog::{CatalogObject, Named, Picture, SecurableRef};
use crate::engine::{DatabaseEntry, thumbprint};
use crate::run::Runner;
use crate::session::info::Info;
use keel_parser::ast::{Ident, SignatureStatement, Signer};
use keel_query::catalog::{Catalog as _, ModuleDef, ModuleKind, SignatureDef};
use keel_types::Value;
use keel_types::error::Result;
use std::sync::Arc;

/// Who has signed a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleSigner {
    /// The security identifier of the login and the users that are mapped to the certificate or key.
    pub sid: Vec<u8>,
    /// A countersignature.
    pub counter: bool,
}

/// A certificate or asymmetric key as it signs.
struct Key {
    mapped: Mapped,
    name: String,
    thumbprint: Vec<u8>,
    /// SubjectPublicKeyInfo, DER.
    public: Vec<u8>,
    sid: Vec<u8>,
}

/// Who has signed a module, where the signature is of the text that it has.
pub(crate) fn signers(picture: &Picture, module: &ModuleDef) -> Arc<[ModuleSigner]> {
    let signer = |s: &SignatureDef| {
        let key = key_of(picture, s)?;
        is_valid(&key, module, s).then_some(ModuleSigner { sid: key.sid, counter: s.counter })
    };
    module.signatures.iter().filter_map(signer).collect()
}

/// Whether a signature is of the text that the module has.
pub(crate) fn is_signed(picture: &Picture, module: &ModuleDef, signature: &SignatureDef) -> bool {
    key_of(picture, signature).is_some_and(|key| is_valid(&key, module, signature))
}

fn is_valid(key: &Key, module: &ModuleDef, signature: &SignatureDef) -> bool {
    rsa::verify(&key.public, &signed_text(module, signature.counter), &signature.signature)
}

/// The certificate or key of a signature.
fn key_of(picture: &Picture, signature: &SignatureDef) -> Option<Key> {
    let mapped = if signature.asymmetric { Mapped::AsymmetricKey } else { Mapped::Certificate };
    keys(picture, mapped).find(|key| key.thumbprint == signature.thumbprint)
}

fn keys(picture: &Picture, mapped: Mapped) -> Box<dyn Iterator<Item = Key> + '_> {
    match mapped {
        Mapped::Certificate => Box::new(picture.certificates().filter_map(move |c| {
            let facts = rsa::read(&c.certificate)?;
            let sid = mapped.sid(&facts.thumbprint);
            Some(Key {
                mapped,
                name: c.name.clone(),
                thumbprint: facts.thumbprint,
                public: facts.public,
                sid,
            })
        })),
        Mapped::AsymmetricKey => Box::new(picture.asymmetric_keys().map(move |k| Key {
            mapped,
            name: k.name.clone(),
            thumbprint: key_thumbprint(&k.public),
            public: k.public.clone(),
            sid: mapped.sid(&thumbprint(&k.public)),
        })),
    }
}

/// What is signed: the text, how it is read, who it runs as, and whether it is a countersignature, which must not be taken for a signature.
fn signed_text(module: &ModuleDef, counter: bool) -> Vec<u8> {
    let text = module.text.encode_utf16().flat_map(u16::to_le_bytes);
    let runs_as = module.execute_as.unwrap_or_default().to_le_bytes();
    let flags = [module.quoted_identifier, module.ansi_nulls, counter].map(u8::from);
    text.chain(runs_as).chain(flags).collect()
}

/// The signature, no countersignature, of a module by what functions call `certificate` or `asymmetric key` and a thumbprint.
pub(crate) fn signature_by<'m>(
    module: &'m ModuleDef,
    by: Mapped,
    thumbprint: &[u8],
) -> Option<&'m SignatureDef> {
    let asymmetric = by == Mapped::AsymmetricKey;
    let all = module.signatures.iter().filter(|s| !s.counter);
    all.filter(|s| s.asymmetric == asymmetric).find(|s| s.thumbprint == thumbprint)
}

/// `IS_OBJECTSIGNED ('OBJECT', object_id, 'certificate' | 'asymmetric key', thumbprint)`: whether an object of the current database has a
/// signature by that one that is of its text; NULL for what there is not.
pub(crate) fn is_object_signed(info: &Info, args: &[Value]) -> Result<Value> {
    let entry = info.current_database();
    let (seen, picture) = (info.seen_picture(&entry), info.picture(&entry));
    let text = |n: usize| args.get(n).and_then(Value::as_str).unwrap_or("").trim();
    let id = args.get(1).and_then(Value::as_int).and_then(|id| i32::try_from(id).ok());
    let found = id.and_then(|id| seen.module_by_id(id)).filter(|_| text(0).eq_ignore_ascii_case("OBJECT"));
    let by = Mapped::named(text(2)).zip(args.get(3).and_then(Value::as_bytes));
    let (Some(module), Some((by, thumbprint))) = (found, by) else { return Ok(Value::Null) };
    let signature = signature_by(module, by, thumbprint);
    Ok(Value::Int(i64::from(signature.is_some_and(|s| is_signed(&picture, module, s)))))
}

impl Info {
    /// Whether something that is signed with a certificate or key is among a database's modules.
    fn signs_modules(&self, entry: &Arc<DatabaseEntry>, asymmetric: bool, thumbprint: &[u8]) -> bool {
        let by = |s: &SignatureDef| s.asymmetric == asymmetric && s.thumbprint == thumbprint;
        self.picture(entry).modules().any(|m| m.signatures.iter().any(by))
    }
}

impl Runner<'_> {
    /// ADD and DROP SIGNATURE.
    ///
    /// # Errors
    /// 15151 for a module, certificate or key that is not there or not the session's to sign or to sign with; 15299 for a signature of
    /// something else; 33013 for one to drop that there is not; those of opening a private key.
    pub(super) fn sign_module(&mut self, entry: &Arc<DatabaseEntry>, s: &SignatureStatement) -> Result<()> {
        let found = self.module_to_sign(entry, s)?;
        self.lock_schema(entry.id, found.object_id)?;
        // Whoever held the lock may have altered it.
        let module = self.module_to_sign(entry, s)?;
        if module.object_id != found.object_id {
            return Err(errors::not_found("find", "object", &s.module.name.text));
        }
        let mut signed = (*module).clone();
        for signer in &s.signers {
            let key = self.signing_key(entry, signer)?;
            let by = |q: &SignatureDef| {
                (q.counter, &q.thumbprint) == (s.counter, &key.thumbprint)
                    && q.asymmetric == (key.mapped == Mapped::AsymmetricKey)
            };
            let there = signed.signatures.iter().position(by);
            match (s.add, there) {
                (true, Some(_)) => {
                    self.info.say(errors::signature_exists(kind_of(s), mapped_of(signer).kind(), &key.name))
                }
                (true, None) => {
                    let signature = self.signature_of(entry, signer, &key, &module, s.counter)?;
                    signed.signatures.push(SignatureDef {
                        counter: s.counter,
                        asymmetric: signer.asymmetric,
                        thumbprint: key.thumbprint,
                        signature,
                    });
                }
                (false, Some(at)) => drop(signed.signatures.remove(at)),
                (false, None) => {
                    return Err(errors::no_signature(kind_of(s), mapped_of(signer).kind(), &key.name));
                }
            }
        }
        self.put(entry, CatalogObject::Module(Arc::new(signed)))
    }

    /// The module, which the session may alter: a procedure, a function with a body of its own, a trigger of a table.
    fn module_to_sign(&self, entry: &Arc<DatabaseEntry>, s: &SignatureStatement) -> Result<Arc<ModuleDef>> {
        let missing = || errors::not_found("find", "object", &s.module.name.text);
        let is_object = |class: &Ident| class.is("OBJECT");
        if !s.class.as_ref().is_none_or(is_object) {
            return Err(missing());
        }
        let picture = self.info.picture(entry);
        let elsewhere =
            |name: &Ident| crate::catalog::fold(&name.text) != crate::catalog::fold(&entry.name());
        if s.module.server.is_some() || s.module.database.as_ref().is_some_and(elsewhere) {
            return Err(missing());
        }
        let schema = match &s.module.schema {
            Some(name) => picture.schema_id(&name.text),
            None => Some(self.info.default_schema(entry)),
        };
        let found = schema.and_then(|schema| picture.named(schema, &s.module.name.text));
        let found =
            found.and_then(|found| if let Named::Module(module) = found { Some(module) } else { None });
        let found = found.filter(|m| !matches!(m.kind, ModuleKind::View | ModuleKind::InlineTableFunction));
        let on = |m: &Arc<ModuleDef>| if m.parent != 0 { m.parent } else { m.object_id };
        let found = found.filter(|m| self.info.may(entry, "ALTER", SecurableRef::Object(on(m))));
        found.ok_or_else(missing)
    }

    /// The certificate or key, which the session controls.
    fn signing_key(&self, entry: &Arc<DatabaseEntry>, signer: &Signer) -> Result<Key> {
        let name = signer.name.text.as_str();
        let mapped = mapped_of(signer);
        match mapped {
            Mapped::Certificate => drop(self.certificate_for(entry, name, "CONTROL", "find")?),
            Mapped::AsymmetricKey => drop(self.asymmetric_key_for(entry, name, "CONTROL", "find")?),
        }
        let folded = crate::catalog::fold(name);
        let picture = self.info.picture(entry);
        let found = keys(&picture, mapped).find(|key| crate::catalog::fold(&key.name) == folded);
        found.ok_or_else(|| errors::cannot_use(mapped_of(signer).kind()))
    }

    /// A new signature: made with the private key, or elsewhere and right.
    fn signature_of(
        &self,
        entry: &Arc<DatabaseEntry>,
        signer: &Signer,
        key: &Key,
        module: &ModuleDef,
        counter: bool,
    ) -> Result<Vec<u8>> {
        let text = signed_text(module, counter);
        if let Some(given) = &signer.signature {
            let right = rsa::verify(&key.public, &text, given);
            return if right { Ok(given.to_vec()) } else { Err(errors::wrong_signature()) };
        }
        let picture = self.info.picture(entry);
        let password = signer.password.as_deref();
        let unusable = || errors::cannot_use(mapped_of(signer).kind());
        let private = match key.mapped {
            Mapped::Certificate => {
                let found = picture.certificate_named(&key.name).ok_or_else(unusable)?;
                self.info.certificate_key(entry, found, password)?
            }
            Mapped::AsymmetricKey => {
                let found = picture.asymmetric_key_named(&key.name).ok_or_else(unusable)?;
                self.info.asymmetric_private(entry, found, password)?
            }
        };
        rsa::sign(&private, &text, &*self.info.engine.options().env.random).ok_or_else(unusable)
    }

    /// Error 15352 for a certificate or key that modules are signed with. Its private key may go: that is how one is kept from signing more.
    pub(super) fn refuse_signer(
        &self,
        entry: &Arc<DatabaseEntry>,
        mapped: Mapped,
        thumbprint: &[u8],
        verb: &str,
    ) -> Result<()> {
        let asymmetric = mapped == Mapped::AsymmetricKey;
        let used = self.info.signs_modules(entry, asymmetric, thumbprint);
        if used { Err(errors::in_use(mapped.kind(), verb)) } else { Ok(()) }
    }
}

fn kind_of(s: &SignatureStatement) -> &'static str {
    if s.counter { "counter signature" } else { "signature" }
}

/// What it signs with.
fn mapped_of(signer: &Signer) -> Mapped {
    if signer.asymmetric { Mapped::AsymmetricKey } else { Mapped::Certificate }
}
