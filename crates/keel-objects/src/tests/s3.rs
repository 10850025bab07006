//! What S3 storage does.

use super::{Answered, Asked, Store};

/// What a request is, for `faults` and `asked`.
pub(super) fn kind(asked: &Asked) -> String {
    assert!(asked.parameter("X-Amz-Signature").is_some(), "{}", asked.query);
    let is_of_upload = asked.parameter("uploadId").is_some();
    match (asked.method.as_str(), asked.parameter("partNumber")) {
        ("PUT", Some(part)) => format!("PUT {part}"),
        ("POST", _) if is_of_upload => "COMPLETE".to_owned(),
        ("POST", _) => "BEGIN".to_owned(),
        ("DELETE", _) if is_of_upload => "ABORT".to_owned(),
        (method, _) => method.to_owned(),
    }
}

pub(super) fn done(store: &mut Store, what: &str, asked: &Asked) -> Answered {
    let missing = || (404, String::new(), b"<Error><Code>NoSuchKey</Code></Error>".to_vec());
    match what {
        "HEAD" => match store.objects.get(&asked.path) {
            Some(object) => {
                (200, format!("Content-Length: {}\r\nETag: \"v1\"\r\n", object.len()), Vec::new())
            }
            None => missing(),
        },
        "GET" => match store.objects.get(&asked.path) {
            Some(object) => (206, String::new(), asked.piece(object)),
            None => missing(),
        },
        "BEGIN" => {
            let xml = "<InitiateMultipartUploadResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Bucket>shop</Bucket>\
                <Key>k</Key><UploadId>u1</UploadId></InitiateMultipartUploadResult>";
            (200, String::new(), xml.into())
        }
        "COMPLETE" if store.parts.is_empty() => missing(),
        "COMPLETE" => {
            let text = String::from_utf8(asked.body.clone()).unwrap();
            let numbers: Vec<u32> = text
                .split("<PartNumber>")
                .skip(1)
                .map(|n| n.split_once('<').unwrap().0.parse().unwrap())
                .collect();
            let parts = std::mem::take(&mut store.parts);
            assert!(parts.keys().copied().eq(numbers), "{text}");
            store.objects.insert(asked.path.clone(), parts.into_values().flatten().collect());
            (200, String::new(), b"<CompleteMultipartUploadResult/>".to_vec())
        }
        "ABORT" => {
            store.parts.clear();
            (204, String::new(), Vec::new())
        }
        "DELETE" => {
            store.objects.remove(&asked.path);
            (204, String::new(), Vec::new())
        }
        put => {
            let number = put.strip_prefix("PUT ").unwrap().parse().unwrap();
            store.parts.insert(number, asked.body.clone());
            (200, format!("ETag: \"p{number}\"\r\n"), Vec::new())
        }
    }
}
