//! The product's errors about keys and certificates. Kinds are "master key", "certificate", "asymmetric key", "symmetric key".

use crate::errors::error_functions;
use keel_types::SqlError;

type E = Box<SqlError>;

error_functions! {
    /// No such key or certificate, or not the caller's business.
    not_found(verb, kind, name) = 15151, 16, 1, "Cannot {verb} the {kind} '{name}', because it does not exist or you do not have permission.";
    /// A file that is not there or is no certificate or key.
    bad_file() = 15208, 16, 1, "The certificate, asymmetric key, or private key file is not valid or does not exist; or you do not have permissions for it.";
    /// A certificate of that name, or the same one, is there.
    certificate_exists(name) = 15232, 16, 1, "A certificate with name '{name}' already exists or this certificate already has been added to the database.";
    /// A file cannot be written.
    cannot_write(path) = 15240, 16, 1, "Cannot write into file '{path}'. Verify that you have write permissions, that the file path is valid, and that the file does not already exist.";
    /// BACKUP of a private key that is not here.
    no_key_to_back_up(name) = 15246, 16, 1, "Cannot dump the private key of certificate '{name}' because the private key cannot be found.";
    /// DROP USER.
    principal_owns(kind) = 15138, 16, 1, "The database principal owns a {kind} in the database, and cannot be dropped.";
    /// A symmetric key of that name or guid is there.
    key_exists(name) = 15282, 16, 1, "A key with name '{name}' or user defined unique identifier already exists or you do not have permissions to create it.";
    /// CREATE CERTIFICATE without SUBJECT.
    subject_missing() = 15291, 16, 1, "SUBJECT must be specified to create a certificate with a new key.";
    /// A certificate that cannot be made.
    data_invalid() = 15297, 16, 1, "The certificate, asymmetric key, or private key data is invalid.";
    /// Another password, or another kind of decryptor.
    other_decryptor() = 15313, 16, 1, "The key is not encrypted using the specified decryptor.";
    /// No ALGORITHM, or one that there is not.
    no_algorithm() = 15314, 16, 1, "Either no algorithm has been specified or the bitlength and the algorithm specified for the key are not available in this installation of Windows.";
    /// A symmetric key that the session has not opened.
    not_open(name) = 15315, 16, 1, "The key '{name}' is not open. Please open the key before using it.";
    /// RESTORE MASTER KEY.
    bad_master_key_file() = 15317, 16, 1, "The master key file does not exist or has invalid format.";
    /// A key that does not open with the old master key.
    old_master_key(kind, name) = 15320, 16, 1, "An error occurred while decrypting {kind} '{name}' that was encrypted by the old master key. The FORCE option can be used to ignore this error and continue the operation, but data that cannot be decrypted by the old master key will become unavailable.";
    /// The old master key is not open.
    master_key_closed() = 15329, 16, 1, "The current master key cannot be decrypted. If this is a database master key, you should attempt to open it in the session before performing this operation. The FORCE option can be used to ignore this error and continue the operation but the data encrypted by the old master key will be lost.";
    /// ALTER CERTIFICATE … WITH PRIVATE KEY (FILE = …) of one that has one.
    private_key_set() = 15332, 16, 1, "The private key is already set for this file. To change it you should drop and re-create the certificate.";
    /// The password is not said.
    password_needed(kind) = 15334, 16, 1, "The {kind} has a private key that is protected by a user defined password. That password needs to be provided to enable the use of the private key.";
    /// Something is encrypted by it.
    in_use(kind, verb) = 15352, 16, 1, "The {kind} cannot be {verb} because one or more entities are either signed or encrypted using it.";
    /// An asymmetric key of that name is there.
    asymmetric_key_exists(name) = 15396, 16, 1, "An asymmetric key with name '{name}' already exists or this asymmetric key already has been added to the database.";
    /// A password for what has none.
    no_password(kind) = 15397, 16, 1, "The {kind} is not protected by a password. A decryption password cannot be used for this operation.";
    /// A private key's password.
    wrong_password() = 15465, 16, 1, "The private key password is invalid.";
    /// Bytes that do not open.
    decryption_failed() = 15466, 16, 1, "An error occurred during decryption.";
    /// WITH SIGNATURE of another text or key.
    wrong_signature() = 15299, 16, 1, "The signature of the public key is invalid.";
    /// ADD SIGNATURE of who has signed already.
    signature_exists(kind, by, name) = 33012, 10, 1, "Cannot add {kind} by {by} '{name}'. Signature already exists or cannot be added.";
    /// DROP SIGNATURE of who has not.
    no_signature(kind, by, name) = 33013, 16, 1, "A {kind} by {by} '{name}' does not exist.";
    /// The library made none.
    generation_failed(kind) = 15468, 16, 1, "An error occurred during the generation of the {kind}.";
    /// Another's private key.
    other_private_key(kind) = 15474, 16, 1, "Invalid private key. The private key does not match the public key of the {kind}.";
    /// Nothing to encrypt the key by.
    no_encryptor() = 15542, 16, 1, "Cannot create a key without specifying an encryptor.";
    /// A private key that is not here, or another password.
    cannot_use(kind) = 15556, 16, 1, "Cannot decrypt or encrypt using the specified {kind}, either because it has no private key or because the password provided for the private key is incorrect.";
    /// ADD ENCRYPTION that is there.
    encryption_there(by, name) = 15557, 16, 1, "There is already a encryption by {by} '{name}'.";
    /// DROP ENCRYPTION that is not there, or the last one.
    cannot_drop_encryption(by, name) = 15558, 16, 1, "Cannot drop encryption by {by} '{name}'.";
    /// REMOVE PRIVATE KEY of what has none.
    no_private_key(kind) = 15563, 16, 1, "The {kind} has no private key set for it.";
    /// A credential of that name is there.
    credential_exists(name) = 15530, 16, 1, "The credential with name \"{name}\" already exists.";
    /// CREATE MASTER KEY where there is one.
    master_key_exists() = 15578, 16, 1, "There is already a master key in the database. Please drop it before performing this statement.";
    /// DROP MASTER KEY.
    master_key_in_use(kind, name) = 15580, 16, 1, "Cannot drop master key because {kind} '{name}' is encrypted by it.";
    /// No master key, or one that is not open.
    no_master_key() = 15581, 16, 7, "Please create a master key in the database or open the master key in the session before performing this operation.";
    /// FORCE: a key is lost.
    old_master_key_ignored(kind, name) = 15584, 10, 1, "An error occurred while decrypting {kind} '{name}' that was encrypted by the old master key. The error was ignored because the FORCE option was specified.";
    /// FORCE: what the old master key opened is lost.
    master_key_closed_ignored() = 15585, 10, 1, "The current master key cannot be decrypted. The error was ignored because the FORCE option was specified.";
    /// RESTORE MASTER KEY of the one that is there.
    same_master_key() = 15588, 10, 1, "The old and new master keys are identical. No data re-encryption is required.";
}
